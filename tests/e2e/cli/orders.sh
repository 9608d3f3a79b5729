# SPDX-License-Identifier: Apache-2.0
#
# The order of tables without --sort: threads asleep are not on top, and memory
# is sorted by a column that is not 0. A heading says so. No column has the title
# of another.
. "$TOP/tests/e2e/lib.sh"

build asleep <<'SOURCE'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static void *volatile keep;
__attribute__((noinline)) static void work(void)
{
	while (clock() < CLOCKS_PER_SEC / 10)
		;
}
__attribute__((noinline)) static void block(void)
{
	sleep(2);
}
__attribute__((noinline)) static void small(void)
{
	free(keep = malloc(100));
}
__attribute__((noinline)) static void large(void)
{
	free(keep = malloc(5000));
}
__attribute__((noinline)) static void brief(void)
{
	for (clock_t end = clock() + CLOCKS_PER_SEC / 1000; clock() < end;)
		;
}
int main(void)
{
	work();
	block();
	small();
	large();
	brief();
	return 0;
}
SOURCE
run_ok "$PERFREC" record --alloc=exact -o data ./asleep
cp err summary

# first [ARGUMENT...]: the function in the first row of a report.
first()
{
	"$PERFREC" report --limit 1 "$@" data >out || fail "report $*: status $?"
	grep -oE ' (work|block|small|large|main)($|  \[)' out | head -n 1 | tr -d ' ['
}

# The columns of a table have different titles.
for view in functions cpu heap span wait; do
	[ -f data/cpu.pb.gz ] || [ $view != cpu ] || continue
	[ -f data/offcpu.pb.gz ] || [ $view != wait ] || continue
	"$PERFREC" report --view $view data >out || fail "--view $view: status $?"
	grep -E '  (function|object)$' out | sed 's/   */\n/g' | sort | uniq -d >twice
	[ ! -s twice ] || fail "--view $view has columns twice: $(cat twice)"
done

expect_eq 'most allocated' "$(first --view heap)" large
expect_match out '^  by allocated, because in use is 0$'
first --view heap --sort inuse >/dev/null
expect_no_match out '^  by '

[ "$(json data/summary.json .totals.sched_threads)" -gt 0 ] || {
	echo 'the kernel reports no switches here'
	exit 77
}
asleep='^  by time on CPU, because [5-9][0-9] % of self time is waiting \(--sort self'
expect_match summary "$asleep"
# A function with little time on CPUs does not hide one that blocked.
expect_match summary '^  functions below 2 % of it or with one sample follow, by self time$'
expect_eq 'order' "$(grep -oE ' (work|block|brief)($|  \[)' summary | tr -d ' [\n')" workblockbrief
for view in functions span; do
	expect_eq "first, $view" "$(first --view $view)" work
	expect_match out "$asleep"
	expect_eq "most self time, $view" "$(first --view $view --sort self)" block
	expect_no_match out '^  by '
done
"$PERFREC" report --markdown data >out || fail "--markdown: status $?"
expect_match out "$asleep"
# JSON keeps its order.
"$PERFREC" report --json --limit 1 data >out || fail "--json: status $?"
expect_eq 'first in JSON' "$(json out '.functions[0].name')" block
"$PERFREC" report --json --view span --limit 1 data >out || fail "--json: status $?"
expect_eq 'first in JSON, span' "$(json out '.functions[0].name')" block
