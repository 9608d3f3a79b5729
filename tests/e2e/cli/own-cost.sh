#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: records each kind of call
#
# The recording cost includes every call that reached a hook: recorded, too deep
# or excluded. Its share refers to the CPU time of the recorded programs.
. "$TOP/tests/e2e/lib.sh"

# Calls through registers: perfrec does not patch such calls, so excluded
# functions keep their hooks.
build program -O2 -fno-plt -mindirect-branch=thunk <<'SOURCE'
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
static volatile long sum;
NOINLINE static void leaf(void)
{
	sum++;
}
NOINLINE static void work(void)
{
	leaf();
	leaf();
}
int main(void)
{
	for (long i = 0; i < 500000; i++)
		work();
	return 0;
}
SOURCE

# cost_of OPTION...: to ./cost, "LEFT_OUT EXCLUDED SPANS"; the cost is at least
# that of the calls, and is what the share is of.
cost_of()
{
	rm -rf data
	run_ok "$PERFREC" record --alloc=off --cpu=off -q -o data "$@" -- ./program
	expect_eq "$*: the sum of its parts, and the share" "$(json \
		data/summary.json '.cost + .totals + {cpu: (.user_ns + .sys_ns)} |
		(.left_out_calls * .left_out_ns + .excluded_calls * .excluded_ns
		 + .spans * .span_ns + .start_ns) as $least |
		"\(.total_ns >= $least * 0.99 and $least > 0) \(.share > 0 and
		.share <= 1) \(.of)"')" 'true true cpu'
	json data/summary.json '"\(.cost.left_out_calls) \(.cost.excluded_calls
		) \(.totals.spans)"' >cost
}

# The CPU profile has processes without a sample in its total already: they are
# counted once, whatever else says how long the program ran.
run_ok "$PERFREC" record --cpu=1 -q -o sampled -- ./program
expect_eq 'the share of what was sampled' "$(json sampled/summary.json \
	'([.user_ns + .sys_ns, .totals.cpu_ns, .cost.total_ns] | max) as $cpu |
	.cost.share * $cpu / .cost.total_ns | . > 0.99 and . < 1.01')" true

# The start of a recording takes each program some time, which is a cost.
cat >twenty.sh <<'SCRIPT'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	./program
done
SCRIPT
run_ok "$PERFREC" record --alloc=off --cpu=off -q -o one -- ./program
run_ok "$PERFREC" record --alloc=off --cpu=off -q -o many -- sh twenty.sh
one=$(json one/summary.json .cost.start_ns)
many=$(json many/summary.json .cost.start_ns)
[ "$one" -gt 0 ] && [ "$many" -gt "$one" ] ||
	fail "a start takes $one ns, twenty $many"

# Paused calls have a cost, and so have annotations other than spans.
cat >pausing.c <<'SOURCE'
#include "perfrec.h"
__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}
int main(void)
{
	leaf();
	perfrec_pause();
	for (int i = 0; i < 200000; i++)
		leaf();
	perfrec_resume();
	for (int i = 0; i < 100000; i++)
		PERFREC_INSTANT("instant");
	return 0;
}
SOURCE
${CC:-gcc} -O2 -finstrument-functions -I"$TOP/preload" -o pausing pausing.c ||
	fail 'cannot compile'
run_ok "$PERFREC" record --alloc=off --cpu=off -q -o paused -- ./pausing
expect_eq 'a pause and instants' "$(json paused/summary.json '.cost + .totals |
	(.paused_spans * .paused_ns + .spans * .span_ns) as $calls |
	"\(.paused_spans) \(.paused_ns > 0) \(.total_ns - $calls > 100000)"')" \
	'200000 true true'
run "$PERFREC" report --verbose paused
expect_match out ' ns a call that is in a pause'

cost_of
expect_eq 'all' "$(cat cost)" '0 0 1500001'
cost_of --depth 1
expect_eq 'depth 1' "$(cat cost)" '1500000 0 1'
cost_of --depth 2
expect_eq 'depth 2' "$(cat cost)" '1000000 0 500001'
# A thread that records nothing tells it when it has called 4,096 more.
for also in '' --depth=5; do
	cost_of --exclude '*' $also
	expect_eq "without all $also" "$(awk '{
		print ($2 > 1500000 - 2049 && $2 <= 1500001), $1, $3
	}' cost)" '1 0 0'
done
cost_of --exclude leaf
expect_eq 'without leaf' "$(cat cost)" '0 1000000 500001'
run "$PERFREC" report --verbose data
expect_match out 'own cost   about .* of the CPU time' ' ns a call that is excluded'

# A program that records nothing has no cost of any kind.
run_ok "$PERFREC" record --alloc=sampled --cpu=off -o nothing -- true
expect_match err 'own cost   about [0-9.]+ % of the .*\(details: perfrec report --verbose\)'
run "$PERFREC" report --verbose nothing
expect_match out '^             [0-9.]+ [a-z]+ to start'
