# The page of a recording: its figures equal those of perfrec report --json, and
# its form is that of docs/PAGE.md. An error while writing is reported, perfrec
# overwrites no file of the recording, and a cut or missing trace costs times
# only.
. "$TOP/tests/e2e/lib.sh"
need python3

page() { python3 "$TOP/tests/tools/page_read.py" "$1" >page.json || fail "$1 breaks the rules"; }
figures() { jq -c '[.functions[] | select(.["wall.self"] > 0) |
	[.name, .["wall.self"], .["wall.total"], .["calls.self"]]] | sort' page.json; }

build calls <<'SOURCE'
#include <stdlib.h>
__attribute__((noinline)) static void *leaf(int i) { return malloc((size_t)i + 1); }
__attribute__((noinline)) static void *down(int depth)
{
	return depth ? down(depth - 1) : leaf(99);
}
int main(void)
{
	for (int i = 0; i < 1000; i++)
		free(leaf(i));
	return !down(700);
}
SOURCE
run_ok "$PERFREC" record -q --html -o data ./calls
page data/report.html
expect_eq 'figures' "$(figures)" "$("$PERFREC" report --json data |
	jq -c '[.functions[] | [.name, .self_ns, .total_ns, .calls]] | sort')"
expect_eq 'bytes allocated' "$(jq '.tree.alloc_space.self.leaf' page.json)" 500600
expect_eq 'calls of the tree' "$(jq '.tree.calls.self.leaf' page.json)" 1001
expect_eq 'a line' "$(jq '[.lines[] | select(test("malloc"))] | length' page.json)" 1
# All calls of leaf were recorded, so their time is known.
expect_eq 'a known time' "$(jq '.unknown_time.calls < 1000' page.json)" true

run_ok "$PERFREC" report --html page.html --no-source data
page page.html
expect_eq 'no source' "$(jq -c '[.source, (.lines | length)]' page.json)" '[false,0]'

run "$PERFREC" report --html data/trace.pftrace data
expect_error 1 'was not written by perfrec'
"$PERFREC" report data >/dev/null || fail 'the recording is lost'
for bad in data no/folder /dev/full; do
	run "$PERFREC" report --html $bad data
	expect_error 1 "cannot write the page '$bad'"
done
run "$PERFREC" report --html data
expect_error 2 "'data': that is a folder; .*perfrec report --html FILE data"
expect_eq 'what is left behind' "$(ls | grep -c 'XXXX\|page.html.')" 0

# Half of the trace; then none.
cp -r data half
head -c "$(($(stat -c %s data/trace.pftrace) / 2))" data/trace.pftrace >half/trace.pftrace
run_ok "$PERFREC" report --html half.html half
page half.html
expect_eq 'the same figures' "$(jq '.tree.calls.self.leaf' page.json)" 1001
rm half/trace.pftrace
run_ok "$PERFREC" report --html half.html half
page half.html
expect_eq 'without times' "$(jq -c '[.buckets, .values[0].timed]' page.json)" '[null,false]'
expect_eq 'the same figures' "$(jq '.tree.calls.self.leaf' page.json)" 1001
# No profile either: what the trace has, which is 512 calls deep.
cp -r data bare
rm bare/*.pb.gz
run_ok "$PERFREC" report --html bare.html bare
page bare.html
expect_eq 'calls of the trace' "$(jq '.tree.calls.self.leaf' page.json)" 1000
