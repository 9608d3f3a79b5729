# SPDX-License-Identifier: Apache-2.0
#
# 5,000 short threads, 64 at a time: each one's calls, name and end are in
# the trace.
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

run timeout 100 "$PERFREC" record -q -o data ./herd
expect_status 0
sort out >called
json data/summary.json '.processes[0] | .pid as $pid | .threads[] |
	select(.tid != $pid) | "\(.name)\t\(.tid)\t\(.spans)"' |
	sort >recorded
diff called recorded >differ || fail "threads differ: $(head -n 5 differ)"
expect_eq 'lost' "$(json data/summary.json '.totals | .dropped_spans +
	.truncated_spans + .unslotted_spans + .repaired_slices')" 0

"$O/tests/tools/trace_check" --json data/trace.pftrace >trace.json ||
	fail 'a rule is broken'
expect_eq 'threads in the trace' "$(json trace.json .threads)" 5001
expect_eq 'calls in the trace' "$(json trace.json .begins)" \
	"$(awk -F '\t' '{ n += $3 } END { print n + 1 }' called)"
