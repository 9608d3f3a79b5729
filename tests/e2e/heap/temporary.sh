#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Temporary blocks of a program without hooks: in an exact recording, the heap view
# has the number of the summary. In a sampled one, which cannot know them, neither
# has a number.
. "$TOP/tests/e2e/lib.sh"
need gcc

cat >shortlived.c <<'SOURCE'
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 100000; i++) {
		volatile char *p = malloc(100);

		p[0] = 1;
		free((void *)p);
	}
	return 0;
}
SOURCE
gcc -O1 -o shortlived shortlived.c || fail 'cannot compile shortlived.c'

run_ok "$PERFREC" record -q --alloc=exact -o exact -- ./shortlived
blocks=$(json exact/summary.json .totals.temporary_allocs)
[ "$blocks" -ge 100000 ] || fail "summary.json says $blocks"
run_ok "$PERFREC" report --view heap --json exact
expect_eq 'the sum of the view' "$(json out .sum.temporary)" "$blocks"
expect_eq 'the sum of its rows' \
	"$(json out '[.functions[].self.temporary] | add')" "$blocks"

run_ok "$PERFREC" record -q --alloc=sampled -o sampled -- ./shortlived
expect_eq 'of samples' "$(json sampled/summary.json \
	'[.totals.temporary_allocs, .functions[].temporary_objects] | unique |
	map(tostring) | join(" ")')" null
run_ok "$PERFREC" report --view heap sampled
! grep -q temporary out || fail "the view has something: $(grep temporary out)"
run "$PERFREC" report --view heap --sort temporary sampled
expect_status 1
expect_match err "'sampled' does not know which blocks were temporary"
