# SPDX-License-Identifier: Apache-2.0
#
# States of functions cannot reduce the cost of allocations. So --overhead samples
# them, unless the user asks for all.
. "$TOP/tests/e2e/lib.sh"
build blocks <<'SOURCE'
#include <stdlib.h>
static void *volatile g_block;
int main(void)
{
	for (int i = 0; i < 1000; i++) {
		g_block = malloc(100);
		free(g_block);
	}
	return 0;
}
SOURCE
# how SETTING OPTION...
how()
{
	setting=$1
	shift
	run_ok "$PERFREC" record -q --no-cache "$@" -o data -- ./blocks
	expect_eq "allocations with $*" \
		"$(json data/summary.json .settings.alloc)" "$setting"
}
all_are_known()
{
	expect_eq 'all blocks are known' \
		"$(json data/summary.json '.totals.allocs >= 1000')" true
}
how auto --overhead off
all_are_known
how sampled --overhead 5%
how sampled --alloc auto --overhead 5%
how exact --alloc exact --overhead 5%
all_are_known
