# SPDX-License-Identifier: Apache-2.0
#
# The page of a recording whose trace was cut or damaged afterwards: it shows the
# rest, and the banner says that a part is missing.
. "$TOP/tests/e2e/lib.sh"
need python3

build_calls
run_ok "$PERFREC" record -q -o data ./calls 3000

# page TRUST: of the recording as it is now.
page()
{
	run_ok "$PERFREC" report --html page.html data
	python3 "$TOP/tests/tools/page_read.py" page.html >page.json ||
		fail 'the page breaks the rules'
	expect_eq 'missing' "$(jq '[.trust.doubts[] |
		select(.text | startswith("a part of the trace is missing"))] | length' page.json)" "$1"
}

page 0
size=$(stat -c %s data/trace.pftrace)
# Never between two packets.
truncate -s $((size - 1)) data/trace.pftrace
page 1
expect_eq 'trust' "$(jq -r .trust.level page.json)" poor
printf '\377\377\377\377\377\377\377\377' |
	dd of=data/trace.pftrace bs=1 seek=$((size / 3)) conv=notrunc 2>dd
page 1
rm data/trace.index
page 1
