# SPDX-License-Identifier: Apache-2.0
#
# Busy, on-CPU and idle time of an asynchronous slice are what the program itself
# measured: two threads take turns to work and to sleep inside of it, and to
# sleep outside. Where switches are not recorded, on-CPU time is not known. A
# thread that ends inside has left; what a forked child does there is not the
# parent's.
. "$TOP/tests/e2e/lib.sh"
need gcc

cat >turns.c <<'SOURCE'
#include <perfrec.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static long long busy, cpu;
static long long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void rest(void)
{
	nanosleep(&(struct timespec){ 0, 3000000 }, NULL);
}
static void inside(void)
{
	long long c = now(CLOCK_THREAD_CPUTIME_ID), w = now(CLOCK_BOOTTIME);

	{
		PERFREC_ASYNC_SCOPE(PERFREC_PROCESS_TRACK, 1, "poll");
		while (now(CLOCK_THREAD_CPUTIME_ID) - c < 4000000)
			;
		rest();
	}
	busy += now(CLOCK_BOOTTIME) - w;
	cpu += now(CLOCK_THREAD_CPUTIME_ID) - c;
}
static void *work(void *unused)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&turn);
		inside();
		rest();
		pthread_mutex_unlock(&turn);
	}
	return unused;
}
int main(void)
{
	long long begin = now(CLOCK_BOOTTIME);
	pthread_t other;

	PERFREC_ASYNC_BEGIN(PERFREC_PROCESS_TRACK, 1, "task");
	pthread_create(&other, NULL, work, NULL);
	work(NULL);
	pthread_join(other, NULL);
	PERFREC_ASYNC_END(PERFREC_PROCESS_TRACK, 1, "task");
	printf("%lld %lld %lld\n", now(CLOCK_BOOTTIME) - begin, busy, cpu);
	return 0;
}
SOURCE
gcc -O1 -I"$TOP/preload" -o turns turns.c -lpthread || fail 'turns.c'

# near WHAT GOT WANTED: allows for the time between the clock and the record,
# which a busy machine may prolong.
near()
{
	awk -v got="$2" -v wanted="$3" 'BEGIN {
		off = got - wanted
		exit !((off < 0 ? -off : off) < wanted / 5)
	}' || fail "$1: $2 ns, and the program says $3"
}

"$PERFREC" record -q -o data -- ./turns >out || fail "status $?"
"$O/tests/tools/trace_check" data/trace.pftrace || fail "the trace breaks a rule"
read -r total busy cpu <out
# member NAME: of the only row of the list.
member()
{
	json data/summary.json ".async | select(length == 1) | .[0].$1"
}
near 'the slice' "$(member total_ns)" "$total"
near 'busy time' "$(member busy_ns)" "$busy"
near 'idle time' "$(member idle_ns)" $((total - busy))
if [ "$(member unknown_sched_ns)" = "$(member busy_ns)" ]; then
	echo '# switches are not recorded here'
	expect_eq 'time on a CPU that nobody knows' "$(member on_cpu_ns)" 0
else
	near 'time on a CPU' "$(member on_cpu_ns)" "$cpu"
fi

"$PERFREC" record -q --sched off -o data.off -- ./turns >out || fail "status $?"
expect_eq 'time on a CPU without switches' "$(json data.off/summary.json '
	.async[0] | .on_cpu_ns == 0 and .unknown_sched_ns == .busy_ns')" true
"$PERFREC" report data.off >report.txt || fail 'no report'
expect_match report.txt '^ +1 +[0-9.]+ m?s +[0-9.]+ m?s +- +[0-9.]+ m?s  task$'

# Two children: one is killed inside, the other leaves what its parent entered.
cat >ends.c <<'SOURCE'
#include <perfrec.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#define TRACK PERFREC_PROCESS_TRACK
static void *gone(void *unused)
{
	PERFREC_ASYNC_ENTER(TRACK, 1, "gone");
	return unused;
}
int main(void)
{
	pthread_t thread;

	PERFREC_ASYNC_BEGIN(TRACK, 1, "task");
	pthread_create(&thread, NULL, gone, NULL);
	pthread_join(thread, NULL);
	usleep(300000);
	PERFREC_ASYNC_ENTER(TRACK, 1, "over the fork");
	if (!fork()) {
		PERFREC_ASYNC_LEAVE(TRACK, 1, "over the fork");
		_exit(0);
	}
	if (!fork()) {
		PERFREC_ASYNC_BEGIN(TRACK, 2, "killed");
		PERFREC_ASYNC_ENTER(TRACK, 2, "killed");
		raise(SIGKILL);
	}
	while (wait(NULL) > 0)
		;
	PERFREC_ASYNC_LEAVE(TRACK, 1, "over the fork");
	PERFREC_ASYNC_END(TRACK, 1, "task");
	return 0;
}
SOURCE
gcc -O1 -I"$TOP/preload" -o ends ends.c -lpthread || fail 'ends.c'
"$PERFREC" record -q -o ends.data -- ./ends || fail "status $?"
"$O/tests/tools/trace_check" ends.data/trace.pftrace || fail "ends: a rule"
expect_eq 'what the child left' \
	"$(json ends.data/summary.json .totals.odd_async_stays)" 1
expect_eq 'slices that their process ended' \
	"$(json ends.data/summary.json .totals.unended_async_slices)" 1
expect_eq 'names that threads entered' "$(json ends.data/summary.json '
	[.async[] | select(.entered == 1) | .name] | sort | join(" ")')" \
	'killed task'
# The thread was inside until its end, and 0.3 s passed after that.
expect_eq 'idle after the end of a thread' "$(json ends.data/summary.json '
	.async[] | select(.name == "task") | .idle_ns > 250000000')" true
