# SPDX-License-Identifier: Apache-2.0
#
# 5,000 short threads, 64 at a time: the trace has the calls, name and end of each,
# except for reported losses. There are 4,096 slots, and none becomes free while a
# busy machine does not let the collector run.
. "$TOP/tests/e2e/lib.sh"

build herd -pthread <<'SOURCE'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define THREADS 5000
#define AT_ONCE 64
struct one { int tid, calls; char name[16]; };
static struct one all[THREADS];
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void *run(void *context)
{
	struct one *one = context;

	one->tid = gettid();
	snprintf(one->name, sizeof(one->name), "herd %d", (int)(one - all));
	pthread_setname_np(pthread_self(), one->name);
	one->calls = 1 + (int)(one - all) % 300;
	for (int i = 0; i < one->calls; i++)
		leaf();
	return NULL;
}
int main(void)
{
	pthread_t threads[AT_ONCE];

	for (int i = 0; i < THREADS + AT_ONCE; i++) {
		if (i >= AT_ONCE)
			pthread_join(threads[i % AT_ONCE], NULL);
		if (i < THREADS && pthread_create(&threads[i % AT_ONCE], NULL,
						  run, &all[i]))
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		printf("%s\t%d\t%d\n", all[i].name, all[i].tid,
		       all[i].calls + 1);
	return 0;
}
SOURCE

# A thread has a slot from its first call on, from a later one, or never.
cat >compare.awk <<'AWK'
NR == FNR { called[$1, $2] = $3; all += $3; next }
!(($1, $2) in called) || $3 > called[$1, $2] {
	print "not so: " $0
	bad = 1
}
{ recorded += $3; threads++ }
END {
	if (all - recorded != unslotted) {
		print all " calls, " recorded " recorded, " unslotted " told"
		bad = 1
	}
	exit bad
}
AWK

# recorded VARIABLE...: under perfrec, as the program itself says.
recorded()
{
	run_ok timeout 100 env "$@" "$PERFREC" record -q -o data ./herd
	json data/summary.json '.processes[0] | .pid as $pid | .threads[] |
		select(.tid != $pid) | "\(.name)\t\(.tid)\t\(.spans)"' >threads
	unslotted=$(json data/summary.json .totals.unslotted_spans)
	awk -F '\t' -v unslotted="$unslotted" -f compare.awk out threads >differ ||
		fail "$*: threads differ: $(head -n 5 differ)"
	expect_eq "$*: lost" "$(json data/summary.json '.totals |
		.dropped_spans + .truncated_spans + .repaired_slices')" 0

	"$O/tests/tools/trace_check" --json data/trace.pftrace >trace.json ||
		fail "$*: a rule is broken"
	expect_eq "$*: threads in the trace" "$(json trace.json .threads)" \
		$(($(wc -l <threads) + 1))
	expect_eq "$*: calls in the trace" "$(json trace.json .begins)" \
		"$(awk -F '\t' '{ n += $3 } END { print n + 1 }' threads)"
}

recorded PERFREC_SLOTS=4096
[ "$(wc -l <threads)" -ge 4000 ] || fail "only $(wc -l <threads) threads"
# So few that some threads find none on any machine.
recorded PERFREC_SLOTS=8
[ "$unslotted" -gt 0 ] || fail 'nothing is told of threads without a slot'
