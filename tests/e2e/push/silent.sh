#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A message names a server that accepts requests and never answers. At the end,
# perfrec-push tries to send the rest for a while, and says so; Ctrl-C ends that,
# and the summary, the recording, the spool and the exit status are as usual.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/push.sh"

start_server state
echo '* stall' >state/plan
url=pyroscope+http://127.0.0.1:$port

# A request that perfrec-push gives up.
windows spool 2 kinds=cpu
is_named()
{
	grep -q 'does not answer' err
}
push_until is_named spool "$url" --timeout 1s
expect_status 0
expect_match err "^perfrec-push: warning: $(echo "$url" | tr + .) does not answer .1 s.$"
expect_no_match err 'cannot reach'
[ "$(counter spool '.refused.silent >= 1 and (.refused | length) == 1')" = true ] ||
	fail "$(cat spool/push.json)"
expect_eq 'lines that name it' "$(grep -c 'does not answer' err)" 1

# The end of input and Ctrl-C, of perfrec-push alone.
: >err
"$O/perfrec-push" --spool spool "$url" --linger 1h </dev/null 2>err &
pusher=$!
is_sending()
{
	grep -q 'sending the last' err
}
wait_for 60 is_sending
kill -INT $pusher
wait $pusher
expect_eq 'exit status' $? 0
pusher=
expect_match err '^perfrec-push: sending the last 2 windows to pyroscope.*, for 3[0-9]* s at most .Ctrl-C leaves them in the spool.$' \
	'does not answer .[0-9]+ s.' "2 windows that were not sent stay in 'spool'"

# perfrec record reports it at once if no window waits.
# Not the words of the run before, which this one has yet to overwrite.
: >err
"$PERFREC" record --push "$url" -o data sh -c 'exit 3' >out 2>err &
perfrec=$!
wait_for 60 is_sending
kill -INT $perfrec
wait $perfrec
expect_eq 'exit status' $? 3
expect_match err 'sending the last 1 window to pyroscope' 'does not answer' \
	"1 window that was not sent stays in 'data/.push'" '^  wall time' '^  files in data$'
expect_eq 'lines about windows that stay' "$(grep -c 'not sent' err)" 1
expect_no_match err 'is killed|not waiting for perfrec-collect'
[ -s data/summary.json ] || fail 'no summary'
# shellcheck disable=SC2012
expect_eq windows "$(ls -d data/.push/[0-9]* | wc -l)" 1

# A daemon: the second signal.
: >err
"$O/perfrec-collect" -o recordings --cpu 99 --push "$url" 2>err &
pusher=$!
wait_for 60 grep -q 'listening on' err
LD_PRELOAD=$O/libperfrec_preload.so PERFREC_QUIET=1 python3 -c 'import hashlib
for n in range(30000): hashlib.sha256(b"x" * 10000).digest()'
kill -TERM $pusher
wait_for 60 is_sending
kill -TERM $pusher
wait $pusher
expect_eq 'exit status' $? 0
pusher=
expect_match err "not sent stays? in 'recordings/.push'"
expect_no_match err 'is killed'
