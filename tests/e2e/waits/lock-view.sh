# SPDX-License-Identifier: Apache-2.0
#
# perfrec report --view lock: the waits of threads for one lock belong to the function
# that held it. Blocked time is that of the waits in the trace, and its parts add up,
# in a range as well.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip "the kernel reports no switches here"
"$PERFREC" record --help | grep -q -e --locks || skip "records no locks"

build convoy -pthread <<'SOURCE'
#include <pthread.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void take(void) { pthread_mutex_lock(&lock); }
__attribute__((noinline)) static void commit(void)
{
	struct timespec nap = { 0, 4000000 };

	nanosleep(&nap, 0);
	pthread_mutex_unlock(&lock);
}
static void *run(void *unused)
{
	const struct timespec pause = { 0, 1000000 };

	for (int i = 0; i < 40; i++) {
		take();
		commit();
		nanosleep(&pause, 0); /* lets the others have it */
	}
	return unused;
}
int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, run, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	return 0;
}
SOURCE

# locks [OPTION...]: of the recording, into locks.json, with the sums of their parts.
locks()
{
	"$PERFREC" report --json --view lock "$@" data >locks.json ||
		fail "report --view lock $*"
	expect_eq 'locks whose parts do not add up' "$(jq '[.locks[] |
		select(([(.holders // .wakers)[].blocked_ns, .unknown_ns,
			.hand_over_ns // 0, .outside_ns // 0,
			.timed_out_ns // 0, .process_ended_ns // 0] | add) !=
			.blocked_ns)] | length' locks.json)" 0
}
blocked() { jq '[.locks[].blocked_ns] | add // 0' locks.json; }

run_ok "$PERFREC" record -q -o data ./convoy
locks
all=$(blocked)
expect_eq 'blocked time' "$all" "$("$PERFREC" dump data |
	jq -s '[.[] | select(.kind == "wait" and .arguments.lock) | .took_ns] | add')"
expect_eq 'waits for other objects' "$(jq .other_blocked_ns locks.json)" \
	"$("$PERFREC" dump data | jq -s '[.[] | select(.kind == "wait" and
		(.arguments.lock | not)) | .took_ns] | add // 0')"
expect_eq 'the first lock' "$(jq -r '.locks[0].lock' locks.json |
	sed 's/0x[0-9a-f]*/N/')" 'mutex lock (convoy+N)'
expect_eq 'functions that held it' "$(jq -r '[.locks[0].holders[].function] |
	unique | join(" ")' locks.json)" commit
# Much of the time may have no holder if threads wait for a CPU.
jq -e '.locks[0] | ([.holders[].blocked_ns] | add) >= .blocked_ns / 5' \
	locks.json >jq.out || fail "holders are not known: $(cat locks.json)"

# The index only saves time.
mv data/trace.index .
locks
expect_eq 'blocked time without an index' "$(blocked)" "$all"
mv trace.index data

# Two ranges are the whole.
locks --to 100ms
before=$(blocked)
locks --from 100ms
# Waits from before the first call are in no range.
expect_eq 'blocked in two ranges' $(($(blocked) + before)) "$all"

run_ok "$PERFREC" report --view lock data
expect_match out 'held in commit, thread [0-9]+ convoy'
run_ok "$PERFREC" replay data
expect_match out 'waited on .mutex convoy.0x[0-9a-f]+., held by convoy in commit'

# Each function has the blocked time of its calls, and the threads they waited for.
"$PERFREC" report --json --view lock --stacks data >functions.json ||
	fail 'report --view lock --stacks'
expect_eq 'functions whose parts do not add up' "$(jq '[.functions[] |
	select(([(.holders, .wakers)[].blocked_ns, .unknown_ns, .hand_over_ns,
		.outside_ns, .timed_out_ns, .process_ended_ns] | add) !=
		.blocked_ns)] | length' functions.json)" 0
expect_eq 'for whom take waited' "$(jq -r '[.functions[] | select(.function ==
	"take") | .holders[].function] | unique | join(" ")' functions.json)" commit
# Only take() waits for the lock.
expect_eq 'the time that take waited for holders' "$(jq '[.functions[] |
	select(.function == "take") | .holders[].blocked_ns] | add' \
	functions.json)" "$(jq '[.locks[0].holders[].blocked_ns] | add' \
	functions.json)"
expect_eq 'stacks of holders' "$(jq -c '[.locks[0].holders[].stack] | unique' \
	functions.json)" '[["commit","run"]]'
run_ok "$PERFREC" report --view lock --stacks data
expect_match out 'function, with its callees'

# Without locks there is no such view.
run_ok "$PERFREC" record -q --locks off -o off ./convoy
run "$PERFREC" report --view lock off
expect_error 1 "'off' has no waits for locks"
run_ok "$PERFREC" record -q --sched off -o no ./convoy
run "$PERFREC" report --view lock no
expect_error 1 "'no' has no waits"

# Threads without a record have no waits in the trace, though they may have waited.
run_ok "$PERFREC" record -q --alloc off -o silent sleep 0.05
run "$PERFREC" report --view lock silent
expect_error 1 "'silent' has no waits of threads with .* add --patch"
# The start of a thread is not a wait.
build starter -pthread <<'SOURCE'
#include <pthread.h>
#include <sched.h>
static int done;
static void *run(void *unused)
{
	for (__atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);;)
		sched_yield();
	return unused;
}
int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST))
		;
	return 0;
}
SOURCE
run_ok "$PERFREC" record -q --alloc off -o starts ./starter
run "$PERFREC" report --view lock starts
# On a busy machine a page fault may be a wait.
"$PERFREC" dump starts | grep -q '"kind":"wait"' ||
	expect_error 1 "'starts' has no waits of threads with .* add --patch"

# Without locks there is no empty table, but a reason.
build asleep <<'SOURCE'
#include <unistd.h>
__attribute__((noinline)) static void block(void)
{
	usleep(100000);
}
int main(void)
{
	block();
	return 0;
}
SOURCE
run_ok "$PERFREC" record -q -o asleep.data ./asleep
run_ok "$PERFREC" report --view lock --stacks asleep.data
expect_match out '^  no thread waited for a lock$'
expect_no_match out 'longest hold'
expect_match out ' block$'
