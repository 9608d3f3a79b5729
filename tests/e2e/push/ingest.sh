#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Old Pyroscope servers get each profile by /ingest. A profile that one of them
# refuses does not keep the others from it. Nor does a window that is dropped in
# the middle.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/push.sh"

start_server state
windows spool 3
push spool "pyroscope-ingest+http://127.0.0.1:$port"
expect_status 0
[ ! -s err ] || fail "$(cat err)"
expect_empty spool
expect_same state
expect_eq requests "$(wc -l <state/log)" 18
expect_eq counters "$(counter spool '[.pushes, .pushed_windows]')" '[18,3]'

start_server state2
printf '200\n422\n503\n' >state2/plan
windows spool 1
push spool "pyroscope-ingest+http://127.0.0.1:$port"
expect_status 0
expect_empty spool
jq 'with_entries(select(.key | contains(" wall ") | not))' expected >rest
mv rest expected
expect_same state2
expect_match err 'refused 1 window for good .422.: .*the plan says 422'
expect_eq counters "$(counter spool '[.pushes, .pushed_windows, .retries, .dropped_windows,
	.dropped, .refused]')" '[5,0,1,1,{"refused":1},{"422":1,"503":1}]'

# The spool has room for one window. The server waits after one of its profiles.
start_server state3
(echo 200 && yes 503 | head -n 60) >state3/plan
windows full 1
windows next 1 first=1 age=30
first=$(ls full)
mkfifo input
"$O/perfrec-push" --quiet --spool full --spool-size "$(du -B1 "full/$first" | cut -f1)" \
	--linger 120s "pyroscope-ingest+http://127.0.0.1:$port" <input 2>full.err &
pusher=$!
exec 3>input
wait_for 60 grep -q 'asks perfrec-push to wait' full.err
mv next/* full
echo >&3
wait_for 60 test ! -e "full/$first"
: >state3/plan
exec 3>&-
wait $pusher || fail "$(cat full.err)"
pusher=
expect_empty full
expect_eq counters "$(counter full '[.pushes, .pushed_windows, .dropped]')" \
	'[7,1,{"spool_full":1}]'
