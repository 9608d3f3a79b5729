#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The switches of threads are in the trace: of a program that works, sleeps and
# forks, in all its processes. The times of its threads on CPUs agree with the calls
# (a sleeping thread is on no CPU, a working one is), with summary.json, and with
# perfrec replay and perfrec dump. Without --sched there are none.
#
# Limits are wide: summary.json has the true sums of the kernel, in which each
# switch costs the thread time that lies between the records of switches.
. "$TOP/tests/e2e/lib.sh"

check=$O/tests/tools/trace_check
build worker -finstrument-functions -O1 -pthread <<'SOURCE'
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20

/* Needs 4 ms of CPU time. */
__attribute__((noinline)) void burn(void)
{
	struct timespec now = { 0 }, start;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec -
		       start.tv_nsec < 4000000);
}

__attribute__((noinline)) void nap(void)
{
	const struct timespec time = { .tv_nsec = 4000000 };

	nanosleep(&time, NULL);
}

static void *work(void *context)
{
	for (int i = 0; i < ROUNDS; i++) {
		burn();
		nap();
	}
	return context;
}

int main(void)
{
	pthread_t thread;
	pid_t child = fork();
	struct rusage used;

	pthread_create(&thread, NULL, work, NULL);
	work(NULL);
	pthread_join(thread, NULL);
	getrusage(RUSAGE_SELF, &used);
	printf("%ld\n", used.ru_nvcsw + used.ru_nivcsw);
	if (!child)
		return 0;
	return waitpid(child, NULL, 0) != child;
}
SOURCE

# has_all GOT: these are all switches of the last ./worker, which counts how often
# its threads left a CPU; they come back as often. It may count 20 more, from before
# recording began.
has_all()
{
	[ "$1" -ge $(($(awk '{ n += 2 * $1 } END { print n }' told) - 40)) ] ||
		fail "$1 switches in the trace, but half of these: $(cat told)"
	# Each of the four threads sleeps 20 times.
	[ "$1" -ge 160 ] || fail "$1 switches in the trace"
}

run_ok "$PERFREC" record -q -o data -- ./worker
mv out told
run_ok "$check" --json --sched data/trace.pftrace
tail -n 1 out >totals
switches=$(jq .switches totals)
[ "$switches" -gt 0 ] || skip 'the kernel does not tell of switches here'
[ "$(jq .sched_losses totals)" -eq 0 ] ||
	skip 'the kernel lost records, as the machine is too busy'
has_all "$switches"
expect_eq 'threads that ran' "$(grep -c '	' out)" 4

# By name, from the trace: on CPU, preempted, waited, unknown.
"$check" --sched-by-name data/trace.pftrace >by_name ||
	fail 'trace_check --sched-by-name'
"$PERFREC" report --json data >report.json || fail 'perfrec report'
jq -r '.functions[] | [.name, .on_cpu_self_ns, .runnable_self_ns +
	.blocked_self_ns + .unknown_sched_self_ns, .switches] | @tsv' \
	report.json >by_summary
awk -F '\t' '
	function fail(text) { print text; bad = 1; exit 1 }
	FNR == NR { on[$5] = $1; off[$5] = $2 + $3 + $4; waited[$5] = $3; next }
	{ sum_on[$1] = $2; sum_off[$1] = $3; switches[$1] = $4 }
	END {
		if (bad)
			exit 1
		# 80 calls of 4 ms each.
		if (on["burn"] < 0.8 * 320e6 || waited["burn"] > on["burn"] / 2)
			fail("burn: " on["burn"] " ns on a CPU, waited " \
			     waited["burn"])
		if (waited["nap"] < 0.9 * 320e6 || on["nap"] > waited["nap"] / 4)
			fail("nap: " on["nap"] " ns on a CPU, waited " \
			     waited["nap"])
		split("burn nap main", names, " ")
		for (i in names) {
			name = names[i]
			slack = 0.02 * off[name] + 20000 * (switches[name] + 10)
			apart = off[name] - sum_off[name]
			if (apart > slack || -apart > slack)
				fail(name ": off the CPU " off[name] \
				     " ns in the trace, " sum_off[name] \
				     " in summary.json")
		}
	}' by_name by_summary || fail 'the trace and summary.json disagree'

# The states within a call add up to its duration.
"$PERFREC" dump data >dump || fail 'perfrec dump'
# The child's end of main is of a call that its parent began.
expect_eq 'ends' "$(jq -s 'map(select(.kind == "end")) | length' dump)" 165
expect_eq 'ends whose parts are not their time' "$(jq -s 'map(select(
	.kind == "end" and .took_ns != .on_cpu_ns + .preempted_ns +
	.waited_ns + .unknown_sched_ns)) | length' dump)" 0
expect_eq 'what is not known, ns' "$(jq -s 'map(select(.kind == "end") |
	.unknown_sched_ns) | add' dump)" 0
# A thread is on one CPU at a time, and at least as long as its outermost calls.
jq -s 'map(select(.kind == "stretch")) | group_by(.tid) | map({
	overlaps: [range(1; length) as $i | select(.[$i].ns <
		.[$i - 1].ns + .[$i - 1].took_ns)] | length,
	on: map(.took_ns) | add})' dump >stretches
expect_eq 'stretches that overlap' "$(jq 'map(.overlaps) | add' stretches)" 0
expect_eq 'threads with stretches' "$(jq length stretches)" 4
[ "$(jq 'map(.on) | add' stretches)" -ge "$(jq -s 'map(select(.kind == "end" and
	.depth == 0).on_cpu_ns) | add' dump)" ] || fail 'stretches are missing'
"$PERFREC" replay data >text || fail 'perfrec replay'
expect_match text '^ *time s  *took  *on CPU  *runnable  *blocked  *thread  calls$' \
	'^ .*s .*s .*s .*s  *[0-9]+ *  nap\(\);$'

# Exports have the CPU times of dump.
"$PERFREC" export --to firefox data | gunzip >firefox.json ||
	fail 'perfrec export --to firefox'
outermost=$(jq -s 'map(select(.kind == "end" and .depth == 0).on_cpu_ns) | add' \
	dump)
expect_eq 'CPU time of the samples' "$(jq '[.threads[].samples.threadCPUDelta |
	map(. // 0) | add] | add' firefox.json)" "$outermost"
"$PERFREC" export --to chrome data >chrome.json ||
	fail 'perfrec export --to chrome'
# The difference between the first and the last event of each thread.
expect_eq 'CPU time of the calls' "$(jq '[.traceEvents | map(select(.tts)) |
	group_by(.tid)[] | (last.tts - first.tts) * 1000] | add | round' \
	chrome.json)" "$outermost"

# The same in bundles of compressed packets.
run_ok "$PERFREC" record -q --compress -o packed -- ./worker
mv out told
run_ok "$check" --json packed/trace.pftrace
has_all "$(jq .switches out)"
"$PERFREC" replay packed >text || fail 'perfrec replay'
expect_match text '^ *time s  *took  *on CPU '

run_ok "$PERFREC" record -q --sched off -o without -- ./worker
run_ok "$check" --json without/trace.pftrace
expect_eq 'switches without --sched' "$(jq .switches out)" 0
"$PERFREC" replay without >text || fail 'perfrec replay'
expect_match text '^ *time s  *took  *thread  calls$'
