# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# long: records 8.7 million calls
#
# The page of a recording of more than 8 million calls comes from its index: its
# figures equal those of perfrec report, all of them have a time, and perfrec
# reads only a little of the trace.
. "$TOP/tests/e2e/lib.sh"
need python3

run_ok "$PERFREC" record -q --on-full=block --alloc=off --cpu=off -o data \
	"$O/tests/bench/page_calls" 8700000 1
spans=$(json data/summary.json .totals.spans)
[ "$spans" -gt 8500000 ] || fail "$spans calls"

page()
{
	run_ok "$PERFREC" report --html page.html "$@" data
	python3 "$TOP/tests/tools/page_read.py" page.html >page.json ||
		fail "$*: the page breaks the rules"
}

page
expect_match page.json 'made by the index'
expect_match page.json 'spread evenly'
expect_eq 'figures' "$(jq -c '[.functions[] | select(.["calls.self"] > 0) |
	[.name, .["wall.self"], .["wall.total"], .["calls.self"]]] | sort' page.json)" \
	"$("$PERFREC" report --json data | jq -c '[.functions[] |
	[.name, .self_ns, .total_ns, .calls]] | sort')"
expect_eq 'calls of the tree' "$(jq '[.tree.calls.self[]] | add' page.json)" "$spans"
expect_eq 'calls over time' "$(jq '.overview.calls | add' page.json)" "$spans"
expect_eq 'the longest call' "$(jq '[.calls[].duration] | max' page.json)" \
	"$("$PERFREC" find --json --limit 1 main data | jq '.calls[0].duration_ns')"
# A little of it has all its calls.
# The time of its calls: the program has begun before.
wall=$("$PERFREC" report --json --from 0ns data | jq .recording_ns)
page --from $((wall / 2))ns --to $((wall / 2 + wall / 50))ns
expect_match page.json 'made by the index'
expect_no_match page.json 'spread evenly'
expect_eq 'calls of the part' "$(jq '[.tree.calls.self[]] | add' page.json)" \
	"$("$PERFREC" report --json --from $((wall / 2))ns \
	--to $((wall / 2 + wall / 50))ns data | jq .totals.calls)"
# Samples in the profile have no times, so a page of a range does not read it.
echo broken >data/cpu.pb.gz
page --from $((wall / 2))ns --to $((wall / 2 + wall / 50))ns
