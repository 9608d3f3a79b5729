#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A program drops spans deep in recursion. When it records again, it reports which
# dropped spans are still open: all of them, at any place of the ring. Unreported
# spans had ends without a start.
. "$TOP/tests/e2e/lib.sh"

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

# The place where a full ring continues is random: nearly each run reaches it.
for run in 1 2 3 4 5; do
	rm -rf data
	run_ok "$PERFREC" record --alloc=off --cpu=off -q -o data --on-full drop \
		--ring-size 64K -- ./program
	expect_eq "run $run: spans, orphan ends, repaired slices" \
		"$(json data/summary.json '.totals | "\(.spans +
		.dropped_spans) \(.orphan_ends) \(.repaired_slices)"')" \
		'2010001 0 0'
done
