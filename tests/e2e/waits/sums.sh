# SPDX-License-Identifier: Apache-2.0
#
# Times that contradict each other: `perfrec doctor DIR` names the sum that
# fails. A recording corrects its own contradictions at its end, so this test
# changes a summary by hand.

. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
perf_permitted || skip 'the kernel permits no perf events here'

build_calls
run_ok "$PERFREC" record -q -o data ./calls 100000
run_ok "$PERFREC" doctor data
expect_match out '^good  functions ' '^good  threads ' '^good  silent ' \
	'^good  states ' 'do not contradict'

# contradicts SUBJECT EXPRESSION: the summary that jq makes of it fails there,
# and nowhere else.
contradicts()
{
	rm -rf wrong
	mkdir wrong
	jq "$2" data/summary.json >wrong/summary.json
	run "$PERFREC" doctor wrong
	expect_status 1
	expect_match out "^bad   $1 " 'contradict each other in'
	expect_eq "sums that fail with $1" "$(grep -c '^bad ' out)" 1
}

contradicts functions '.functions[0].on_cpu_self_ns += 1000000000000'
contradicts threads '.totals.on_cpu_ns += 1000000000000'
contradicts silent '.totals.silent_on_cpu_ns += 1000000000000'
contradicts states '.processes[0].threads[0].blocked_ns += 1000000000000'

# Without a recording in it a folder is where recordings would go.
mkdir empty
run "$PERFREC" doctor empty
expect_match out '^(good|less)  trial '
rm -rf wrong
