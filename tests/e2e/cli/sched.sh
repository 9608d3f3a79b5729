# SPDX-License-Identifier: Apache-2.0
#
# On-CPU and waiting time in the summary and in --view span, with --sched and
# without: columns, order of rows, the line of all threads, and refusals.
. "$TOP/tests/e2e/lib.sh"

# ./waits: computes for 100 ms of CPU time in work(), and waits in block(), in
# 20 pieces, for 200 ms.
build waits <<'SOURCE'
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static void work(void)
{
	volatile unsigned long i = 0;

	while (clock() < CLOCKS_PER_SEC / 10)
		i++;
}
__attribute__((noinline)) static void block(void)
{
	for (int i = 0; i < 20; i++)
		usleep(10000);
}
int main(void)
{
	work();
	block();
	return 0;
}
SOURCE

run_ok "$PERFREC" record --sched off -o off ./waits
expect_no_match err 'threads' 'blocked' 'on CPU'
run "$PERFREC" report --view span off
expect_no_match out 'blocked' 'on CPU'
for view in functions span; do
	run "$PERFREC" report --view $view --sort blocked off
	expect_error 1 "'off' has no waits and times on CPUs: record again"
done
run "$PERFREC" report --view wait off
expect_error 1 "'off' has no waits and times on CPUs: record again"
# The message suggests a value for people, not one from the inside of perfrec.
run "$PERFREC" export --to folded --value blocked off
expect_error 1 "'off' has nothing of blocked to export: give --value wall\$"
# A summary that was made from the trace does not tell whether there was --sched.
cp -r off killed
rm killed/summary.json
run "$PERFREC" report --sort blocked killed
expect_match err "'killed' has no waits and times on CPUs: its summary was made from its trace"

run_ok "$PERFREC" record -o data ./waits
[ "$(json data/summary.json .totals.sched_threads)" -gt 0 ] || {
	echo 'the kernel does not tell of switches here'
	exit 77
}
expect_match err 'threads +on CPU [0-9.]+ .?s, runnable [0-9.]+ .?s, blocked' \
	'blocked [0-9.]+ .?s; [0-9,]+ switches, [0-9,]+ migrations?' \
	'calls  self time      %     on CPU   runnable    blocked      total'
# The values of a function are those of summary.json, and add up.
json data/summary.json '.functions[] | select(.self_ns != .on_cpu_self_ns +
	.runnable_self_ns + .blocked_self_ns + .unknown_sched_self_ns) | .name' >odd
[ ! -s odd ] || fail "times do not add up: $(cat odd)"

# first KEY VIEW: the function of the first row
first()
{
	"$PERFREC" report --sort "$1" --view "$2" --limit 1 data >out ||
		fail "report --sort $1: status $?"
	grep -o ' \(work\|block\|main\)\($\|  \[\)' out | tr -d ' ['
}
for view in functions span; do
	expect_eq "most blocked, $view" "$(first blocked $view)" block
	# Two may have as many.
	most=$(first switches $view)
	expect_eq "most switches, $view: $most" "$(json data/summary.json \
		".functions | (map(.switches) | max) ==
		(map(select(.name == \"$most\"))[0].switches)")" true
	expect_eq "most on a CPU, $view" "$(first on-cpu $view)" work
done
run "$PERFREC" report --json --sort blocked --limit 1 data
expect_eq 'most blocked' "$(json out '.functions[0].name')" block
[ "$(json out '.functions[0] | .switches >= 20 and .blocked_self_ns >= 190000000')" = true ] ||
	fail "block() was not blocked: $(json out '.functions[0]')"
run "$PERFREC" report --json --view span data
expect_eq 'the same in the profile' \
	"$(json out '.functions[] | select(.name == "block") | .self.switches')" \
	"$(json data/summary.json '.functions[] | select(.name == "block") | .switches')"
# With what perfrec took they do not add up, and it is said.
run "$PERFREC" report --raw data
expect_match out 'perfrec itself took .* in them \(on CPU, runnable and blocked: without\)'
run "$PERFREC" report --raw off
expect_match out 'perfrec itself took [^(]* in them$'
# The table has columns for switches only on request.
run "$PERFREC" report data
expect_no_match out '  switches  '
run "$PERFREC" report --sort switches data
expect_match out '  switches  '

# The objects that block() waited for, in brackets; all of its time has one.
run_ok "$PERFREC" report --json --view wait data
expect_eq 'waits of 10 ms' "$(json out '.sum.waits >= 20 and .sum.blocked >= 190000000')" true
expect_eq 'the object' "$(json out '.functions[0].name | test("^\\[.*\\]$")')" true
# Waits that nobody reads are named as such, with what to do about them.
cat >short.c <<'SOURCE'
#include <unistd.h>
int main(void) { for (int i = 0; i < 2; i++) usleep(50); return 0; }
SOURCE
gcc -g -O0 -finstrument-functions -o short short.c || fail 'cannot compile'
"$PERFREC" record -q -o short.data ./short || fail 'cannot record'
run "$PERFREC" report --view wait short.data
expect_match out '  \[unknown\]$' \
	'^  \(\[unknown\]: not identified, most of them too short; --stacks names the calls\)$'
run "$PERFREC" report --view wait --stacks short.data
expect_no_match out 'unknown\]: not identified'
run "$PERFREC" report --view wait --stacks data
expect_match out '^      block  .*waits.c:[0-9]+  \[waits\]$'
run "$PERFREC" export --to folded --value blocked data
expect_match out 'main;block;.*\[.*\] [0-9]+$'
run_ok "$PERFREC" diff --fail-if 'blocked(block) > 1s' data data
run "$PERFREC" diff --fail-if 'blocked(block) > 100ms' data data
expect_status 3
# The column that sorts the rows is visible on a terminal of any width.
run env COLUMNS=50 "$PERFREC" report --view span --sort blocked data
expect_match out '^ .*blocked  function$'
