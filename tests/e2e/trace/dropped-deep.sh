#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A program that drops spans while it is deep in recursion. When it goes on it
# says which dropped spans are still open: all of them, wherever in the ring
# that falls. Those that were not said had ends without a begin.
. "$TOP/tests/e2e/lib.sh"
need jq

build program -O0 <<'SOURCE'
static volatile long calls;
static void nest(int depth)
{
	if (depth)
		nest(depth - 1);
	calls++;
}
int main(void)
{
	for (int i = 0; i < 10000; i++)
		nest(200);
	return 0;
}
SOURCE

# Where a full ring goes on is chance: nearly each of these runs meets it.
for run in 1 2 3 4 5; do
	rm -rf data
	run "$PERFREC" record --alloc=off --cpu=off -q -o data --on-full drop \
		--ring-size 64K -- ./program
	expect_status 0
	expect_eq "run $run: spans, orphan ends, repaired slices" \
		"$(json data/summary.json '.totals | "\(.spans +
		.dropped_spans) \(.orphan_ends) \(.repaired_slices)"')" \
		'2010001 0 0'
done
