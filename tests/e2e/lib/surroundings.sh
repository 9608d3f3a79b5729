# SPDX-License-Identifier: Apache-2.0
#
# surroundings.sh - what tests of odd surroundings share, sourced after lib.sh:
# perfrec and its collector work there, or refuse in words.

# works HOW COMMAND...: COMMAND records ./calls 1000 into ./data, whole.
works()
{
	how=$1
	shift
	rm -rf data
	run_ok timeout 100 "$@"
	[ -s data/summary.json ] || fail "$how: no summary: $(cat err)"
	expect_eq "$how: spans" "$(json data/summary.json .totals.spans)" 1002
	expect_eq "$how: lost" \
		"$(json data/summary.json .totals.dropped_spans)" 0
	expect_eq "$how: names" \
		"$(json data/summary.json '[.functions[].name] | sort | join(" ")')" \
		'leaf main work'
	"$PERFREC" report data >report 2>&1 || fail "$how: $(cat report)"
	"$O/tests/tools/trace_check" data/trace.pftrace ||
		fail "$how: a rule is broken"
}

# in_words HOW REGEX COMMAND...: COMMAND works, or says on stderr why not, by a
# line that matches. It does not crash, nor hang.
in_words()
{
	how=$1 regex=$2
	shift 2
	rm -rf data
	run timeout 100 "$@"
	[ "$status" -lt 124 ] || fail "$how: status $status: $(cat err)"
	if [ "$status" -eq 0 ] && [ -s data/summary.json ] &&
		[ "$(json data/summary.json .totals.spans)" = 1002 ]; then
		echo "$how: works"
		return
	fi
	expect_match err "$regex"
	echo "$how: $(head -n 1 err)"
}
