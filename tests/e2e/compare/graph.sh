# SPDX-License-Identifier: Apache-2.0
#
# perfrec graph: exact calls by caller and callee, recursion, direct and by a
# circle, counted functions; and the same calls as uftrace has of the same source.

. "$TOP/tests/e2e/lib.sh"

# With an argument: once more after a line on stdin.
cat >graph.c <<'SOURCE'
#include <stdio.h>
volatile int sum;
__attribute__((noinline)) void leaf(void) { sum = sum + 1; }
__attribute__((noinline)) void left(int n) { for (int i = 0; i < n; i++) leaf(); }
__attribute__((noinline)) void right(int n) { leaf(); left(n); }
__attribute__((noinline)) int down(int n)
{
	leaf();
	return n ? 1 + down(n - 1) : 0;
}
__attribute__((noinline)) int odd(int n);
__attribute__((noinline)) int even(int n) { return n ? odd(n - 1) + 1 : 0; }
__attribute__((noinline)) int odd(int n) { return n ? even(n - 1) + 1 : 0; }
int main(int argc, char **argv)
{
	(void)argv;
	do {
		for (int i = 0; i < 100; i++)
			left(i % 5);
		right(7);
		sum += down(9) + even(6);
		puts("done");
		fflush(stdout);
	} while (argc > 1 && getchar() == '\n');
	return 0;
}
SOURCE
gcc -O1 -g -finstrument-functions -o graph graph.c || fail 'cannot compile'
run_ok "$PERFREC" record -q -o data ./graph

# edges FUNCTION LIST: "calls function" of its callers or callees.
edges()
{
	"$PERFREC" graph --json "$1" data |
		jq -r ".$2[] | (.calls | tostring) + \" \" + .name" | sort -k 2 |
		paste -s -d ,
}
expect_eq 'callers of leaf' "$(edges leaf callers)" '10 down,207 left,1 right'
expect_eq 'callees of leaf' "$(edges leaf callees)" ''
expect_eq 'callers of left' "$(edges left callers)" '100 main,1 right'
expect_eq 'callers of down' "$(edges down callers)" '9 down,1 main'
expect_eq 'callees of down' "$(edges down callees)" '9 down,10 leaf'
expect_eq 'callers of even' "$(edges even callers)" '1 main,3 odd'
expect_eq 'callees of even' "$(edges even callees)" '3 odd'
expect_eq 'callees of main' "$(edges main callees)" \
	'1 down,1 even,100 left,1 right'
expect_eq 'callers of main' "$(edges main callers)" '1 '

for function in leaf down even main; do
	"$PERFREC" graph --json $function data >out
	expect_eq "$function: times of its callers" \
		"$(json out '([.callers[].total_ns] | add) == .total_ns')" true
	expect_eq "$function: times of its callees, and its own" \
		"$(json out '([.callees[].total_ns, .self_ns] | add) == .total_ns')" true
	expect_eq "$function: calls" "$(json out .calls)" \
		"$(json data/summary.json ".functions[] | select(.name == \"$function\").calls")"
done

run_ok "$PERFREC" graph down data
expect_match out '^down  \[graph\]  .*/graph.c:[67]$' '^  10 calls, self ' \
	'^ +9 +down .*\(recursion\)' '^ +calls +total +% +callers'
run "$PERFREC" graph leaf data --limit 1
expect_match out '^  and 2 more'

run "$PERFREC" graph l data
expect_status 1
expect_eq 'names with an l' "$(paste -s -d , err)" \
	"perfrec: error: 'data' has no function 'l'; perfrec report data lists them,  leaf,  left"
run "$PERFREC" graph dwon data
expect_error 1 "did you mean 'down'"
run "$PERFREC" graph 'le*' data
expect_status 1
expect_eq 'what matches' "$(paste -s -d , err | sed 's/.*names,//')" '  leaf,  left'
run "$PERFREC" graph
expect_error 2 'give a function'
run "$PERFREC" graph leaf missing
expect_error 1 "no such folder: 'missing'"

# A function that was excluded or off is no unknown name.
run "$PERFREC" record -q -o less --exclude leaf ./graph
run "$PERFREC" graph leaf less
expect_error 1 "has no function 'leaf': maybe --filter or --exclude left it out"
jq '.functions += [{name: "leaf", module: "/graph", calls: 0, recorded: 0, state: "off"}]' \
	less/summary.json >changed && mv changed less/summary.json
run "$PERFREC" graph leaf less
expect_error 1 "no recorded calls of 'leaf': it was off .*--no-cache"
jq '(.functions[] | select(.name == "leaf")) += {calls: 9, state: "counted"}' \
	less/summary.json >changed && mv changed less/summary.json
run "$PERFREC" graph 'lea*' less
expect_error 1 "no recorded calls of 'leaf': they were counted only"

# Counted calls: the sum is exact, the callers are said to be an estimate, or not
# to be known.
run "$PERFREC" record -q -o counted --count leaf ./graph
run "$PERFREC" graph leaf counted
expect_match out '^  218 calls' '~218 .*callers not known'
mkfifo input
"$PERFREC" record -q -o partly ./graph again <input >rounds 2>err.partly &
recorder=$!
exec 9>input
wait_for 60 test -s rounds
run_ok "$PERFREC" ctl -o partly functions --count leaf
echo >&9
exec 9>&-
wait $recorder || fail "exit status $?: $(cat err.partly)"
run "$PERFREC" graph leaf partly
expect_match out '^  436 calls' '~.* (left|down|right)' 'the callers'

if command -v uftrace >/dev/null; then
	gcc -O1 -g -pg -o graph-pg graph.c || fail 'cannot compile'
	uftrace record -d uf ./graph-pg >/dev/null 2>&1 || skip 'uftrace cannot record here'
	uftrace report -d uf -f call 2>/dev/null |
		awk '$2 ~ /^(leaf|left|right|down|odd|even|main)$/ { print $1, $2 }' |
		sort >theirs
	jq -r '.functions[] | (.calls | tostring) + " " + .name' data/summary.json |
		sort >ours
	[ -s theirs ] || fail 'uftrace says nothing'
	diff theirs ours || fail 'uftrace counts other calls'
	# Nodes of its graph: "(207) leaf" below "(100) left".
	uftrace graph -d uf left 2>/dev/null | grep -o '([0-9]*) [a-z]*' >nodes
	expect_match nodes '^\(101\) left$' '^\(207\) leaf$'
else
	echo 'uftrace is not installed: not compared with it'
fi
