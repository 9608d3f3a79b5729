#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# perfrec's own work in the program has one row, "[perfrec]", the last one. No
# sum, share or total of the program's functions contains it. Tables had rows
# such as `heap_live_remove [libperfrec_preload.so]`.
. "$TOP/tests/e2e/lib.sh"
need python3

build program -O1 <<'SOURCE'
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static volatile long sum;

NOINLINE static void leaf(void)
{
	free(malloc(100 + (size_t)sum++ % 100));
}

/* For 300 ms of CPU time. */
int main(void)
{
	while (clock() < CLOCKS_PER_SEC * 3 / 10)
		for (int i = 0; i < 1000; i++)
			leaf();
	return 0;
}
SOURCE

run_ok "$PERFREC" record -q --overhead off --cpu 999 --alloc exact -o data ./program
[ -s data/cpu.pb.gz ] || skip 'no CPU samples here'

run_ok "$PERFREC" report --view cpu --limit 0 data
expect_no_match out 'libperfrec'
expect_eq 'the last row' "$(awk 'NF { row = $0 } END { print row }' out |
	grep -c '\[perfrec\]$')" 1
expect_eq 'its share' "$(awk 'NF { row = $0 } END { print row }' out |
	sed 's/ \[perfrec\]$//; s/[0-9., ]*[mun]*s//g; s/[ 0-9,]//g')" ''
# A table that is cut ends with it as well.
run "$PERFREC" report --view cpu --limit 1 data
expect_match out ' \[perfrec\]$'
for stacks in '' --stacks; do
	run_ok "$PERFREC" report --view cpu $stacks --limit 0 --json data
	expect_eq "$stacks: one row, the last, in no sum" "$(jq -c '
		(.stacks // .functions) as $rows |
		def own: (.name // .stack[0].name) == "[perfrec]";
		def values: .self // .value;
		[([$rows[] | select(own)] | length), ($rows[-1] | own),
		 ($rows[-1] | values.cpu > 0),
		 ([$rows[] | select(own | not) | values.cpu] | add) == .sum.cpu]' out)" \
		'[1,true,true,true]'
done
expect_eq 'no total is more than the sum' "$("$PERFREC" report --view cpu --limit 0 \
	--json data | jq '.sum.cpu as $sum | [.functions[] |
	select(.name != "[perfrec]") | .total.cpu <= $sum] | all')" true
# An export shows where perfrec was called.
"$PERFREC" export --to folded --value cpu data >folded
grep -q '^[^ ]*;leaf;\[perfrec\] [0-9]*$' folded ||
	fail "no hook below leaf: $(cat folded)"
! grep -q 'libperfrec\|\[perfrec\];' folded || fail 'frames of perfrec in a stack'

# Samples in the trace are the same, and so is the table made from it.
"$PERFREC" export --to parquet --depth 1 -o tables data
python3 "$TOP/tests/e2e/lib/parquet_read.py" tables/samples.parquet name mapping stack >rows
! grep -q 'libperfrec\|\[perfrec\];\|\[perfrec\].*\[perfrec\];' rows ||
	fail "perfrec's functions in the table of samples: $(cat rows)"
grep -q '^\["\[perfrec\]", null, "[^ ]*;leaf;\[perfrec\]"\]$' rows ||
	fail "the table has no hook below leaf: $(cat rows)"
