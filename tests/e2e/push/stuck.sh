#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# --push without a success: a pusher that never reads its pipe and does not end, a
# full spool, an unwritable spool, and wrong URLs.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/stacks.sh"
. "$TOP/tests/e2e/lib/windows.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need protoc gcc python3

build calls <<'SOURCE'
#include <stdlib.h>
#include <unistd.h>
static void *volatile last;
static void __attribute__((noinline)) step(void)
{
	last = malloc(100);
	usleep(1000);
}
int main(void)
{
	while (access("stop", F_OK) != 0)
		step();
	return 0;
}
SOURCE

# A pusher that hangs: the recording is whole, and the pusher is killed.
pusher <<'SCRIPT'
echo $$ >pid
exec sleep 1000
SCRIPT
touch stop
run_ok "$PERFREC" record -q --push parca+http://one -o data ./calls
expect_match err 'perfrec-push does not end: it is killed'
expect_match err "1 window was not sent: it is in 'data/.push'"
[ -s data/summary.json ] || fail 'no summary'
! kill -0 "$(cat pid)" 2>/dev/null || fail 'the pusher is still there'

# A full spool. No window is written, and nothing is lost: when there is room, the
# next window has all of it.
rm -rf data stop
mkdir -p data/.push
head -c 3000000 /dev/zero >data/.push/1-1
pusher <<'SCRIPT'
exec cat >/dev/null
SCRIPT
"$O/perfrec-collect" -o data --alloc exact --push parca+http://one \
	--push-interval 1s --push-spool 1M 2>collect.log &
collector=$!
wait_for 60 grep -q 'listening on' collect.log
preload ./calls &
program=$!
is_full()
{
	"$PERFREC" ctl --json stats >stats.json &&
		jq -e '.stats.push_full >= 2' stats.json >/dev/null
}
wait_for 60 is_full
expect_eq 'windows' "$(ls data/.push)" 1-1
rm data/.push/1-1
has_window()
{
	[ -n "$(ls data/.push)" ]
}
wait_for 60 has_window
touch stop
wait $program || fail 'the program'
stop_daemon
expect_windows data/.push 1
windows_sum data/.push memory 4 | cut -d' ' -f1,2,5- | LC_ALL=C sort >got
profile_stacks data/calls-*/heap.pb.gz | cut -d' ' -f1,2,5- | LC_ALL=C sort >want
cmp -s got want || fail "allocated: $(diff got want)"

# A spool that goes away: the recording goes on, and the log says it.
rm -rf stop
start_daemon --alloc exact --push parca+http://one --push-interval 1s
rmdir data/.push
preload ./calls &
program=$!
wait_for 60 grep -q '\.push' collect.log
touch stop
wait $program || fail 'the program'
stop_daemon
wait_for 60 has_summary calls

# Impossible settings.
run "$PERFREC" record --push=one:4040 true
expect_error 2 "^perfrec: error: --push 'one:4040': give pyroscope.http://HOST:PORT, "
run "$PERFREC" record --push http://one:4040 true
expect_error 2 "^perfrec: error: --push 'http://one:4040': give pyroscope.http://HOST:PORT, "
for url in otlp+http://me:secret@one otlp+https://me@one http://me:secret@one; do
	run "$O/perfrec-collect" --push $url
	expect_error 2 'the URL contains a user or a password.*--push-auth$'
	expect_no_match err secret
done
run "$PERFREC" record --push true
expect_error 2 'set PYROSCOPE_SERVER_ADDRESS or OTEL_EXPORTER_OTLP_ENDPOINT$'
run "$PERFREC" record --push localhost:4040 true
expect_error 2 "^perfrec: error: --push 'localhost:4040': give a URL, such as --push="
run "$PERFREC" record --push me:secret@localhost:4040 true
expect_error 2 '^perfrec: error: --push: give a URL, such as --push='
run env PYROSCOPE_SERVER_ADDRESS=https://me:secret@one "$PERFREC" record --push true
expect_error 2 '^perfrec: error: PYROSCOPE_SERVER_ADDRESS: the URL contains a user'
run "$PERFREC" record --push-auth file true
expect_error 2 '^perfrec: error: --push-auth: only with --push$'
pusher <<'SCRIPT'
echo "$@" >args
cat >/dev/null
rm -rf "$2"/[0-9]*
SCRIPT
run_ok env PYROSCOPE_SERVER_ADDRESS=http://one:4040 \
	OTEL_EXPORTER_OTLP_ENDPOINT=http://two:4318 "$PERFREC" record -q \
	--push-auth file --otlp-version 1 --push -o variables true
expect_eq 'command line' "$(cat args)" \
	'--spool variables/.push --spool-size 67108864 --push-auth file --otlp-version 1 --quiet pyroscope+http://one:4040 otlp+http://two:4318'
PERFREC_PUSH=/nowhere run "$PERFREC" record --push otlp+http://one -o none true
expect_status 1
expect_match err 'cannot start perfrec-push, for --push'
