#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Times of functions exclude the time that perfrec took in them, in the summary and
# in profiles; measured times are there as well. Calls that were only counted are
# exact, in both.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/profile.sh"
need protoc strings

build program -O2 <<'SOURCE'
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
static volatile long sum;
NOINLINE static void leaf(void)
{
	sum++;
}
NOINLINE static void work(long n)
{
	for (long i = 0; i < n; i++)
		leaf();
}
int main(void)
{
	work(1000000);
	return 0;
}
SOURCE

# of FUNCTION EXPRESSION
of()
{
	json data/summary.json ".functions[] | select(.name == \"$1\") | $2"
}

run_ok "$PERFREC" record --alloc=off --cpu=off -o data ./program
expect_match err '  times      are without the [0-9.]* [mu]*s that perfrec took'
expect_eq 'more was measured' "$(json data/summary.json '[.functions[] |
	.self_ns < .measured_self_ns and .total_ns < .measured_total_ns and
	.self_ns <= .total_ns and .recorded == .calls and .state == "span"] |
	all')" true
# The inner half of each call is subtracted from leaf, the outer from work, which
# called it, and where the thread waited for room in the ring.
expect_eq 'the halves' "$(json data/summary.json '
	def without($counted): .measured_self_ns - .self_ns - $counted;
	.cost as $cost | .totals.wait_ns as $waited |
	[.functions[] | select(.self_ns > 0) |
	if .name == "leaf" then without(1000000 * $cost.inner_ns)
	elif .name == "work" then without(1000000 * $cost.outer_ns)
	else 0 end] | add | . > -2 and . < $waited + 100')" true
expect_eq 'the sum of it' "$(json data/summary.json '
	(.functions | map(.measured_self_ns - .self_ns) | add) ==
	.cost.subtracted_ns and .cost.inner_ns > 0 and .cost.outer_ns > 0')" \
	true
expect_profile data

# The profile is corrected stack by stack, the summary function by function:
# here each function has one stack, so both say the same.
profile_text data/wall.pb.gz >text
expect_match text '"wall_measured"'
expect_eq 'profile and summary' "$(of leaf .self_ns)" \
	"$(awk '/^sample/ { n = 0; values = "" } $1 == "location_id:" { n++ }
	$1 == "value:" { values = values " " $2 }
	/^}/ && n == 3 { split(values, v, " "); if (v[1] == 1000000) print v[2]
		n = 0 }' text)"

run "$PERFREC" report data
expect_match out 'are without the .* \(--raw: as measured\)'
run "$PERFREC" report --raw data
expect_match out 'are as measured: perfrec itself took'
run "$PERFREC" report --raw --view cpu data
expect_status 2
expect_match err '--raw: choose --view functions or span'

# Most samples of CPU time are in the hooks: they say what a span costs. Without
# perf_event there are none.
run_ok "$PERFREC" record --alloc=off --cpu=2000 -o data ./program
expect_eq 'samples in the hooks' "$(json data/summary.json '
	.totals.cpu_samples < 10 or .cost.own_samples > 0')" true
expect_eq 'no more than all' "$(json data/summary.json '
	.cost.own_samples <= .totals.cpu_samples')" true

# Counted calls are exact, none is recorded, and the profile says so.
run_ok "$PERFREC" record --alloc=off --count leaf -o data ./program
expect_match err 'counted +100.0 % of 1,000,002 calls have no times of their own; at the end 1 function only counted, 0 off' \
	' c  leaf$'
expect_eq 'calls of leaf' \
	"$(of leaf '"\(.calls) \(.recorded) \(.state)"')" \
	'1000000 0 counted'
expect_eq 'calls in all' "$(json data/summary.json '
	(.functions | map(.calls) | add) == .totals.spans + .totals.counted_calls')" \
	true
profile_functions data/wall.pb.gz | awk '$3 == "leaf" { print $1 }' >calls
expect_eq 'calls of leaf in the profile' "$(cat calls)" 1000000
profile_text data/wall.pb.gz >text
expect_match text 'calls were only counted: their time is in their callers, which are estimated'

# In the trace a change is an instant, and a counter says how many functions are
# muted meanwhile.
"$O/tests/tools/trace_check" data/trace.pftrace >check 2>&1 ||
	fail "trace_check: $(cat check)"
strings data/trace.pftrace >names
expect_match names 'perfrec: leaf only counted: asked for' \
	'perfrec: functions not recorded'

