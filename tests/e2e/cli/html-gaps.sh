# SPDX-License-Identifier: Apache-2.0
# long: writes the pages of several recordings
#
# The overview of the page says when calls were lost, when functions were muted,
# and has the counters of the trace: no such stretch looks like an idle one.
. "$TOP/tests/e2e/lib.sh"
need python3

overview() { python3 "$TOP/tests/tools/page_read.py" "$1" >page.json || fail "$1 breaks the rules"; }
sum() { jq --arg key "$1" '.overview[$key] | add' page.json; }

build bursts <<'SOURCE'
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) static void leaf(int i) { sink += i; }
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 3000000; i++)
		leaf(i);
	/* The resident size is looked at ten times a second. */
	if (argc > 1)
		sleep(2);
	return 0;
}
SOURCE
# One CPU: the collector cannot keep pace with the smallest ring.
cpu=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')
run_ok taskset -c "$cpu" "$PERFREC" record -q --on-full drop --ring-size 64K -o lost ./bursts
"$PERFREC" report --html lost.html lost
overview lost.html
lost=$(jq .totals.dropped_spans lost/summary.json)
[ "$lost" -gt 0 ] || fail 'nothing was lost'
expect_eq 'lost calls over time' "$(sum lost)" "$lost"
# The same as a large recording has them, by the sums and cells of its index.
expect_eq 'by the index, lost calls' "$("$O/tests/tools/calls_dump" lost/trace.pftrace 0 0 |
	awk '$1 == "index" || $1 == "gap" { printf "%s ", $NF }')" "1 $lost 0 "
expect_eq 'nothing is muted' "$(jq '.overview.muted' page.json)" null

run_ok "$PERFREC" record -q --count leaf -o muted ./bursts stay
"$PERFREC" report --html muted.html muted
overview muted.html
expect_eq 'muted functions' "$(jq '.overview.muted | max' page.json)" 1
expect_eq 'muted to the end' "$(jq '.overview.muted[-1]' page.json)" 1
expect_eq 'nothing is lost' "$(jq '.overview.lost' page.json)" null
expect_eq 'the resident size' "$(jq -c '[.counters[] | select(.title == "RSS") | .unit]' page.json)" '["bytes"]'
