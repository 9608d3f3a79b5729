#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# How long calls took: median, p99, maximum and the whole distribution of each
# function, over threads, processes and contexts. The program itself measures
# each call from outside (which is longer) and from inside (shorter): what
# perfrec says lies between the two.
. "$TOP/tests/e2e/lib.sh"

# ./planted: three threads and a child call even() and uneven(); 1 in 20 calls is
# slow. Writes "NAME CALLS", and the median, p99 and maximum measured inside and
# around the calls.
build planted -pthread <<'SOURCE'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
#define NOINLINE __attribute__((noinline))
#define ROOM 4000

struct measured {
	atomic_int count;
	uint64_t inside[ROOM], around[ROOM];
};
static struct measured *all; /* of even(), of uneven() */

PLAIN static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

PLAIN static uint64_t spin(uint64_t ns)
{
	uint64_t start = now(), at;

	while ((at = now()) - start < ns)
		;
	return at - start;
}

NOINLINE static uint64_t even(int i)
{
	return spin(3000 + (uint64_t)(i % 7));
}

NOINLINE static uint64_t uneven(int i)
{
	return spin(i % 20 ? 5000 : 400000);
}

NOINLINE static uint64_t rare(void)
{
	return spin(100000);
}

PLAIN static void measure(int which, uint64_t (*call)(int), int i)
{
	uint64_t start = now(), inside = call(i), around = now() - start;
	int at = atomic_fetch_add(&all[which].count, 1);

	all[which].inside[at] = inside;
	all[which].around[at] = around;
}

PLAIN static void *calls(void *none)
{
	for (int i = 0; i < 400; i++) {
		measure(0, even, i);
		measure(1, uneven, i);
	}
	return none;
}

static ucontext_t main_context, other_context;

PLAIN static void in_context(void)
{
	calls(NULL);
}

/* The same in a context of its own. */
PLAIN static void run_context(void)
{
	static char stack[256 << 10];

	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = sizeof(stack);
	other_context.uc_link = &main_context;
	makecontext(&other_context, in_context, 0);
	swapcontext(&main_context, &other_context);
}

PLAIN static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

PLAIN static void tell(const char *name, struct measured *one)
{
	int n = one->count;
	const int rank[] = { (n + 1) / 2, n - n / 100, n };

	qsort(one->inside, (size_t)n, sizeof(uint64_t), compare);
	qsort(one->around, (size_t)n, sizeof(uint64_t), compare);
	printf("%s %d", name, n);
	for (int i = 0; i < 3; i++)
		printf(" %llu %llu",
		       (unsigned long long)one->inside[rank[i] - 1],
		       (unsigned long long)one->around[rank[i] - 1]);
	putchar('\n');
}

int main(void)
{
	pthread_t thread[3];

	all = mmap(NULL, 2 * sizeof(*all), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return 1;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread[i], NULL, calls, NULL))
			return 1;
	run_context();
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	rare();
	switch (fork()) {
	case -1:
		return 1;
	case 0:
		calls(NULL);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	tell("even", &all[0]);
	tell("uneven", &all[1]);
	return 0;
}
SOURCE

# check FILE: what a summary says of durations is what ./planted has measured.
# Their clocks may differ by a bit, and a bucket is 1/64 wide.
check()
{
	json "$1" '.functions[] | select(.max_ns != null) |
		[.name, .recorded, .median_ns, .p99_ns, .max_ns] | @tsv' >said
	while read -r name calls in50 out50 in99 out99 inmax outmax; do
		expect_eq "calls of $name" "$calls" 2000
		awk -v name="$name" -v calls="$calls" \
			-v bounds="$in50 $out50 $in99 $out99 $inmax $outmax" '
		$1 == name {
			found = 1
			split(bounds, bound, " ")
			if ($2 != calls)
				bad = "calls"
			for (i = 0; i < 3; i++)
				if ($(3 + i) < bound[2 * i + 1] * 0.98 - 1000 ||
				    $(3 + i) > bound[2 * i + 2] * 1.02 + 1000)
					bad = bad " " $(3 + i)
		}
		END { print found ? bad : "not there" }' said >wrong
		expect_eq "$1: $name is not within $in50 $out50 $in99 $out99 $inmax $outmax" \
			"$(cat wrong)" ''
	done <measured
	expect_eq "$1: counts of each distribution" "$(json "$1" '[.functions[] |
		select(.recorded > 0) |
		([.durations | split(" ")[] | split(":")[1] | tonumber] | add) ==
		.recorded] | all')" true
	expect_eq "$1: the order of figures" "$(json "$1" '[.functions[] |
		select(.recorded > 0) | .median_ns <= .p99_ns and
		.p99_ns <= .max_ns] | all')" true
	expect_eq "$1: buckets are in order, and each once" "$(json "$1" '
		[.functions[] | select(.recorded > 0) | .durations | split(" ") |
		map(split(":")[0] | tonumber) | . == unique] | all')" true
	expect_eq "$1: nothing is said of what was never recorded" "$(json "$1" '
		[.functions[] | select(.recorded == 0) | .max_ns, .durations] |
		all(. == null)')" true
}

"$PERFREC" record -q -o data ./planted >measured || fail "status $?"
check data/summary.json
# The sum of two distributions, as docs/JSON.md has it.
expect_eq 'rare is one call' "$(json data/summary.json '.functions[] |
	select(.name == "rare") | .durations | split(":")[1]')" 1
expect_eq 'one call is exact' "$(json data/summary.json '.functions[] |
	select(.name == "rare") | .median_ns == .total_ns and
	.p99_ns == .max_ns and .max_ns == .total_ns')" true

# The same from the trace alone.
cp -r data lost
rm lost/summary.json
"$PERFREC" report --json lost >rebuilt.json 2>/dev/null || fail 'no rebuilt summary'
check rebuilt.json

# With several workers, each has its own.
"$PERFREC" record -q --workers 4 -o four ./planted >measured || fail "status $?"
check four/summary.json

# Calls that are kept out of the trace are not kept out of this.
"$PERFREC" record -q --min-duration 100us -o short ./planted >measured ||
	fail "status $?"
check short/summary.json
[ "$(json short/summary.json .totals.short_spans)" -ge 1 ] ||
	fail 'the trace has all calls'

# --- what a person sees ---
run_ok "$PERFREC" report data
expect_match out ' total +median +p99 +max +function'
# order KEY: the names, in this order.
order()
{
	"$PERFREC" report --json --sort "$1" data |
		jq -r '.functions[] | select(.recorded > 0) | .name' | xargs
}
# All calls of uneven together are the longest, main alone is longest.
expect_eq 'the longest call' "$(order max | cut -d' ' -f1)" main
expect_eq 'the median of even is the least' "$(order median | awk '{ print $NF }')" \
	even
expect_eq 'the order by p99' "$("$PERFREC" report --json --sort p99 data |
	jq '[.functions[] | select(.recorded > 0) | .p99_ns] | . == (sort | reverse)')" \
	true
run_ok "$PERFREC" report --sort median data

# A summary of an older perfrec does not know it.
cp -r data old
jq 'del(.functions[] | .median_ns, .p99_ns, .max_ns, .durations)' \
	data/summary.json >old/summary.json
run_ok "$PERFREC" report old
expect_no_match out ' median '
for key in median p99 max; do
	run "$PERFREC" report --sort $key old
	expect_error 1 "--sort: 'old' does not know how long single calls took"
done

# Calls that were only counted have no durations; all others have.
"$PERFREC" record -q --count even -o counted ./planted >measured || fail "status $?"
expect_eq 'those that were recorded' "$(json counted/summary.json '[.functions[] |
	select(.name == "even" and .recorded > 0) |
	([.durations | split(" ")[] | split(":")[1] | tonumber] | add) ==
	.recorded] | all')" true
