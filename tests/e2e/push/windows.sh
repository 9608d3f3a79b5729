#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: compares each window with the recording
#
# The windows of --push for perfrec-push: their sums equal the profiles of the
# recording, stack by stack. The pusher is a script that sends nothing.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/stacks.sh"
. "$TOP/tests/e2e/lib/windows.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need protoc gcc python3

# It goes on until "stop" is there, and does some of everything.
cat >busy.c <<'SOURCE'
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *kept[1 << 16];
static unsigned int keeps;

static void __attribute__((noinline)) burn(void)
{
	struct timespec now;
	clock_t end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + 5;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < end);
}
static void __attribute__((noinline)) keep(void)
{
	for (int i = 0; i < 10; i++)
		kept[keeps++ % (1 << 16)] = malloc(1000);
}
static void __attribute__((noinline)) drop(void)
{
	free(malloc(500));
}
static void *hold(void *unused)
{
	while (access("stop", F_OK) != 0) {
		pthread_mutex_lock(&lock);
		usleep(5000);
		pthread_mutex_unlock(&lock);
		usleep(1000);
	}
	return unused;
}
int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, hold, NULL);
	while (access("stop", F_OK) != 0) {
		burn();
		keep();
		drop();
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		usleep(10000);
	}
	pthread_join(thread, NULL);
	free(kept[0]);
	return 0;
}
SOURCE
gcc -O1 -g -fno-builtin -finstrument-functions -o busy busy.c -lpthread ||
	fail "cannot compile busy.c"

# has_windows N: so many are there.
has_windows()
{
	[ "$(find data/.push -name '[0-9]*' 2>/dev/null | wc -l)" -ge "$1" ]
}
# expect_sums FOLDER SPOOL [SESSION]: windows and the recording in FOLDER agree.
expect_sums()
{
	windows_sum "$2" memory 4 "${3:-*}" | cut -d' ' -f1,2,5- | LC_ALL=C sort >got
	profile_stacks "$1/heap.pb.gz" | cut -d' ' -f1,2,5- | LC_ALL=C sort >want
	grep -q 'main;keep$' want || fail "keep() is not in $1/heap.pb.gz"
	cmp -s got want || fail "allocated: $(diff got want)"
	[ -s "$1/offcpu.pb.gz" ] || return 0
	windows_sum "$2" off_cpu 1 "${3:-*}" >got
	profile_stacks "$1/offcpu.pb.gz" | cut -d' ' -f2- | grep -v '^0 ' |
		LC_ALL=C sort >want
	cmp -s got want || fail "off CPU: $(diff got want)"
	{
		windows_sum "$2" mutex 2 "${3:-*}"
		windows_sum "$2" block 2 "${3:-*}"
	} | LC_ALL=C sort >got
	profile_stacks "$1/offcpu.pb.gz" | grep -v '^0 0 ' | LC_ALL=C sort >want
	cmp -s got want || fail "mutex and block: $(diff got want)"
	windows_sum "$2" mutex 2 "${3:-*}" >got
	expect_no_match got ';\[(sleep|unknown)[^;]*$'
	[ -s "$1/cpu.pb.gz" ] || return 0
	# perfrec scales the samples of a process when it has ended: some stacks
	# lose time then, and others get less time later.
	windows_sum "$2" cpu 2 "${3:-*}" | awk '$1 { $2 = ""; print }' |
		LC_ALL=C sort >got
	profile_stacks "$1/cpu.pb.gz" | awk '$1 { $2 = ""; print }' |
		LC_ALL=C sort >want
	cmp -s got want || fail "samples: $(diff got want)"
}

# --- perfrec record ---------------------------------------------------------
pusher <<'SCRIPT'
echo "$@" >args
readlink /proc/self/fd/0 >stdin
cat >pipe
exit 1
SCRIPT
rm -f stop
"$PERFREC" record -q --alloc=exact --push pyroscope+http://one:4040 \
	--push=otlp+https://two --push-interval 1s -o data ./busy >out 2>err &
perfrec=$!
wait_for 60 has_windows 3
touch stop
wait $perfrec
expect_eq status $? 0
expect_eq 'command line' "$(cat args)" \
	'--spool data/.push --spool-size 67108864 --quiet pyroscope+http://one:4040 otlp+https://two'
expect_match stdin '^pipe:'
windows=$(find data/.push -name '[0-9]*' | wc -l)
expect_eq 'bytes in the pipe' "$(wc -c <pipe)" "$windows"
expect_match err "perfrec-collect: warning: $windows windows were not sent: they are in 'data/.push'"
expect_windows data/.push 1
expect_sums data data/.push
# In use: at the end of the window.
unpack_windows data/.push
newest=$(find unpacked -name '[0-9]*' | sort | tail -n 1)
profile_stacks "$newest/memory.pb.gz" | cut -d' ' -f3- | grep -v '^0 0 ' >got
profile_stacks data/heap.pb.gz | cut -d' ' -f3- | grep -v '^0 0 ' >want
cmp -s got want || fail "in use: $(diff got want)"
jq -e '.program == "busy" and .hz == 499' "$newest/meta.json" >/dev/null ||
	fail "$(cat "$newest/meta.json")"
windows_sum data/.push wall 1 >got
expect_match got '^[1-9][0-9]* main;burn$'
expect_no_match stacks.text '^  label'
# The spool in the folder of a recording moves with the folder.
for _ in 1 2; do
	run_ok "$PERFREC" record -q -o data true
done
expect_none data/.push data.old/.push

# All windows were sent: no file stays, and there is no message.
pusher <<'SCRIPT'
cat >/dev/null
echo '{"pushes": 3}' >"$2/push.json"
rm -rf "$2"/[0-9]*
SCRIPT
run_ok "$PERFREC" record -q --push parca+http://one --push-interval 1s -o data ./busy
expect_eq stderr "$(cat err)" ''
expect_none data/.push

# --- a daemon ---------------------------------------------------------------
# Two programs; one of its pushers dies, the next one has counters.
pusher <<'SCRIPT'
echo started >>starts
[ "$(wc -l <starts)" -gt 1 ] || exit 3
cat >"$2/push.json" <<JSON
{"pushes": 7, "pushed_windows": 8, "pushed_bytes": 9, "retries": 10,
"refused": {"429": 11, "tls": 1}, "dropped_windows": 13, "spooled_windows": 14,
"spooled_bytes": 15, "last_success_unix_ns": 1795877863000000016, "last_error": ""}
JSON
cat >/dev/null
SCRIPT
rm -f stop
start_daemon --alloc exact --cpu 99 --sched on --push parca+http://one \
	--push-interval 1s
preload ./busy &
one=$!
preload ./busy &
two=$!
wait_for 60 has_windows 6
wait_for 60 grep -q 'perfrec-push has ended (status 3) and is started again in 1 s' collect.log
wait_for 60 test -s data/.push/push.json
run "$PERFREC" ctl stats
expect_match out '^push: 8 windows .9 B. sent, 14 .15 B. waiting, 13 given up; 12 requests refused, 10 sent again$'
run "$PERFREC" ctl --json stats
jq -e '.stats | .push_windows >= 6 and .push_refusals == [
	{"why": "429", "requests": 11}, {"why": "tls", "requests": 1}]' out \
	>/dev/null || fail "$(cat out)"
touch stop
wait $one || fail 'one'
wait $two || fail 'two'
stop_daemon
expect_windows data/.push 1
for session in 1 2; do
	# It is one of the two. Both may have allocated the same, so all sums show
	# which one.
	: >why
	agrees=
	for folder in data/busy-*; do
		(expect_sums "$folder" data/.push $session) >>why 2>&1 || continue
		agrees=$folder
		break
	done
	[ "$agrees" ] || fail "session $session agrees with neither: $(cat why)"
done

# --- killed ------------------------------------------------------------------
# Windows stay; the next collector removes incomplete ones.
rm -rf stop data collect.log
pusher <<'SCRIPT'
exec cat >/dev/null
SCRIPT
"$O/perfrec-collect" -o data --push parca+http://one --push-interval 1s \
	2>collect.log &
collector=$!
wait_for 60 grep -q 'listening on' collect.log
preload ./busy &
one=$!
wait_for 60 has_windows 1
kill -KILL $collector
wait $collector
touch stop
wait $one
echo '{' >data/.push/.123-4
find data/.push -name '[0-9]*' | sort >before
rm collect.log
"$O/perfrec-collect" -o data --push parca+http://one 2>collect.log &
collector=$!
wait_for 60 grep -q 'listening on' collect.log
expect_none data/.push/.123-4
stop_daemon
find data/.push -name '[0-9]*' | sort >after
cmp -s before after || fail "windows: $(diff before after)"
