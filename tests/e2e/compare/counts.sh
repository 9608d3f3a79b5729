# SPDX-License-Identifier: Apache-2.0
#
# One call more and one block more in a program of one thread are found and
# named, with two recordings a side; nothing else is called a change, and nothing
# at all with one recording a side. Conditions of --fail-if hold for these
# functions and no others.

. "$TOP/tests/e2e/lib.sh"

source_of()
{
	cat <<-'SOURCE'
	#include <stdlib.h>
	char *volatile keep;
	__attribute__((noinline)) void leaf(int n) { keep = malloc(n + 1); free(keep); }
	__attribute__((noinline)) void work(void)
	{
		for (int i = 0; i < 1000; i++)
			leaf(i % 7);
	}
	int main(void)
	{
		work();
	#ifdef CALL
		leaf(3);
	#endif
	#ifdef BLOCK
		keep = malloc(33);
	#endif
		return 0;
	}
	SOURCE
}
mkdir plain call block
for kind in plain call block; do
	(cd $kind && source_of | build app "-D$(echo $kind | tr a-z A-Z)") || exit 1
	run_ok "$PERFREC" record -q --alloc exact -o $kind/data $kind/app
	run_ok "$PERFREC" record -q --alloc exact -o $kind/again $kind/app
done

# changed FILE: "value function" for each change of a function itself. Another
# test checks blocks in use at the peak.
changed()
{
	jq -r '.functions[] | .name as $name | .values | to_entries[] |
		select(.value.changed and (.key | test("total$|^peak") | not)) |
		.key + " " + $name' "$1" | sort | paste -s -d ,
}

run_ok "$PERFREC" diff plain/data plain/again -- plain/again plain/data --json
expect_eq 'version' "$(json out .version)" 1
expect_eq 'changes of equal runs' "$(changed out)" ''
expect_eq 'calls are' "$(json out '.metrics[] | select(.key == "calls") | .judged')" exact
expect_eq 'times are' "$(json out '.metrics[] | select(.key == "wall") | .judged')" not
# A thread can lose its CPU in any run.
if [ "$(json plain/again/summary.json .totals.sched_threads)" -gt 0 ]; then
	expect_eq 'switches are' \
		"$(json out '.metrics[] | select(.key == "switches") | .judged')" not
fi

run "$PERFREC" diff plain/data plain/again -- call/data call/again --json
expect_eq 'changes' "$(changed out)" \
	'alloc_objects leaf,alloc_space leaf,calls leaf'
expect_eq 'calls of leaf' \
	"$(json out '.functions[] | select(.name == "leaf") | .values.calls.b[1]')" 1001
run "$PERFREC" diff plain/data plain/again -- block/data block/again --json
expect_eq 'changes' "$(changed out)" \
	'alloc_objects main,alloc_space main,inuse_objects main,inuse_space main'

run_ok "$PERFREC" diff plain/data plain/again -- call/data call/again
expect_match out '^calls: 1 change \(\*\)$' \
	'^ +\* +1,000 +1,001 +\+1 +\+0\.1 +0\.0 +leaf' \
	'^wall time: times and samples vary, and a side has fewer than 3 runs: unproven$' \
	'^the same: blocks in use at the end, bytes in use at the end'
expect_no_match out 'now in|different programs'

# One run a side proves nothing, and says how to.
run_ok "$PERFREC" diff plain/data call/data --limit 0
expect_match out '^calls: one run each: unproven$' '^ +1,000 +1,001 +\+1 +\+0\.1 +leaf' \
	'to prove changes, record 3 of each'
expect_no_match out '\*|[0-9] changes?'
run_ok "$PERFREC" diff plain/data call/data --json
expect_eq 'changes of one run each' "$(changed out)" ''
run "$PERFREC" diff plain/data plain/again -- call/data --limit 0
expect_match out '^calls: a side has one run: unproven$'

run "$PERFREC" diff plain/data plain/again -- call/data call/again --stacks
expect_match out '^ +\* +0 +1 +\+1 +0\.0 +leaf .*\(only in B\)'

# fails CONDITION EXPECTED: the condition holds for the functions EXPECTED.
fails()
{
	run "$PERFREC" diff plain/data call/data --fail-if "$1"
	expect_eq "$1: functions" \
		"$(sed -n 's/^fail: .*: \(.*\): .* -> .*/\1/p' err | paste -s -d ,)" "$2"
	[ -z "$2" ] && expect_status 0
	[ -n "$2" ] && expect_status 3
}
fails 'calls(le*) > +0' leaf
fails 'calls(*) > +0.05%' leaf
fails 'calls(*) > +0.2%' ''
fails 'calls(*) > +1' ''
fails 'calls(*) > 1000' leaf
fails 'calls(@app) > 999' leaf
fails 'blocks(leaf) > +0' leaf
fails 'bytes(leaf) > 1K' leaf
fails 'bytes(leaf) > 1M' ''
fails 'wall.total(main) > 100s' ''
fails 'total(main) > 1ns' main

run "$PERFREC" diff plain/data call/data --fail-if 'calls(leaf) > +0' --json
expect_status 3
expect_eq 'failed' "$(jq -c .failed out)" \
	'[{"condition":"calls(leaf) > +0","name":"leaf"}]'

# The page of both; conditions are tested all the same.
run "$PERFREC" diff --html page.html plain/data call/data --fail-if 'calls(leaf) > +0'
expect_status 3
[ ! -s out ] || fail 'stdout is not empty'
expect_match page.html 'id="perfrec-data"'
run "$PERFREC" diff --html no/folder/page.html plain/data call/data
expect_error 1 'no/folder/page.html'

# A summary made from a trace, after the collector was killed, has too few calls
# for an exact comparison. It has no modules either, so a function cannot have
# moved from one.
cp -r plain/data killed
rm killed/summary.json killed/wall.pb.gz
"$PERFREC" report --repair killed >out 2>err || fail "$(cat err)"
run_ok "$PERFREC" diff killed plain/again --json
expect_eq 'calls of a killed one are' "$(json out '.metrics[] |
	select(.key == "calls") | .judged')" not
run "$PERFREC" diff killed plain/again --limit 0
expect_match out 'killed was made from its trace: its times are as they were'
expect_no_match out 'now in'
run "$PERFREC" graph leaf killed
expect_eq 'head of the graph' "$(head -n 1 out)" leaf
