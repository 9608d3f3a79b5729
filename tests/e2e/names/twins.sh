#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Functions of one name in several files have a row each, in every view, with
# the file in the name. A function of a header has one row.
. "$TOP/tests/e2e/lib.sh"

cat >busy.h <<'SOURCE'
extern volatile unsigned long sink;
static __attribute__((noinline)) void busy(int n)
{
	unsigned long s = n;
	for (int i = 0; i < n; i++) {
		s = s * 6364136223846793005ul + i;
		__asm__ volatile("" : : "r"(s));
	}
	sink = s;
}
SOURCE
# Each file has a static function with code of its own, and an inlined one.
for file in one two; do
	cat >$file.c <<SOURCE
#include "busy.h"
static __attribute__((noinline)) void helper(int n)
{
	for (int i = 0; i < n; i++)
		sink = sink * 6364136223846793005ul + i;
}
static inline __attribute__((always_inline)) void step(int n)
{
	for (int i = 0; i < n; i++)
		sink = sink * 6364136223846793005ul ^ i;
}
void run_$file(int n)
{
	helper(n);
	step(n);
	busy(n);
}
SOURCE
done
cat >main.c <<'SOURCE'
volatile unsigned long sink;
void run_one(int n), run_two(int n);
int main(void)
{
	for (int i = 0; i < 12; i++) {
		run_one(1000000);
		run_two(2000000);
	}
	return 0;
}
SOURCE
${CC:-gcc} -O1 -g -o twins main.c one.c two.c || fail 'cannot compile'
run_ok "$PERFREC" record -q --alloc=off --cpu 997 -o data -- ./twins
if jq -e '.notes | any(test("^no CPU samples"))' data/summary.json >/dev/null
then
	skip 'perf_event is denied here'
fi
run_ok "$PERFREC" report --view cpu --json data
jq -r '.functions[] | select(.name | test("^(helper|step|busy)"))
	| .name + " " + (.file | sub(".*/"; ""))' out | sort >rows
printf '%s\n' 'busy busy.h' 'helper (one.c) one.c' 'helper (two.c) two.c' \
	'step (one.c) one.c' 'step (two.c) two.c' >wanted
cmp -s rows wanted || fail "rows: $(cat rows)"
run_ok "$PERFREC" export --to folded --value cpu data
expect_match out ';run_one;helper [(]one[.]c[)]' ';run_two;helper [(]two[.]c[)]' \
	';run_one;step [(]one[.]c[)]' ';run_two;step [(]two[.]c[)]' \
	';run_one;busy' ';run_two;busy'
expect_no_match out 'run_one;[a-z]* [(]two' 'run_two;[a-z]* [(]one'
run_ok "$PERFREC" annotate 'helper (two.c)' data
expect_match out '/two[.]c$'
run "$PERFREC" annotate helper data
expect_match err "'helper' matches 2 functions" 'helper [(]one[.]c[)]'

# Calls, and a filter by the name alone.
"$PERFREC" cc ${CC:-gcc} -O1 -g -o hooked main.c one.c two.c ||
	fail 'cannot compile with hooks'
calls()
{
	rm -rf data
	run_ok "$PERFREC" record -q --cpu off "$@" -o data -- ./hooked
	jq -r '.functions[] | select(.name | test("^(helper|step)"))
		| "\(.name) \(.calls)"' data/summary.json | sort >rows
}
calls
printf '%s\n' 'helper (one.c) 12' 'helper (two.c) 12' 'step (one.c) 12' \
	'step (two.c) 12' >wanted
cmp -s rows wanted || fail "calls: $(cat rows)"
calls --exclude helper
expect_eq 'calls without helper' "$(cat rows)" "$(tail -n 2 wanted)"
calls --exclude 'helper (one.c)'
expect_eq 'calls without that of one.c' "$(cat rows)" "$(tail -n 3 wanted)"
