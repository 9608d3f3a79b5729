# SPDX-License-Identifier: Apache-2.0
#
# A program whose first recorded call comes late: the page counted times from the
# first event of the trace, find and --from count from the first call, so a time of
# the page was a wrong --from.
. "$TOP/tests/e2e/lib.sh"
need python3

build late <<'SOURCE'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static void work(int n) { usleep(n * 1000); }
__attribute__((no_instrument_function)) int main(void)
{
	void *block = malloc(100000);

	usleep(50000);
	free(block);
	for (int i = 1; i < 6; i++)
		work(i);
	return 0;
}
SOURCE
run_ok "$PERFREC" record -q --cpu=999 --alloc exact -o data ./late
"$PERFREC" find --json work data | jq -c '[.calls[].begin_ns] | sort' >found
expect_eq 'the first call' "$(jq '.[0], length' found | xargs)" '0 5'

# page OPTION...: into page.json.
page()
{
	run_ok "$PERFREC" report --html page.html "$@" data
	python3 "$TOP/tests/tools/page_read.py" page.html >page.json ||
		fail "$*: the page breaks the rules"
}

page
expect_eq 'times of calls' "$(jq -c '[.calls[].begin] | sort' page.json)" "$(cat found)"
# The page shows the time before the first call.
expect_eq 'events before' "$(jq '.time.first_ns < 0' page.json)" true
expect_eq 'the peak' "$(jq '.heap.peak_ns < 0' page.json)" true
page --from "$(jq '.[4]' found)ns"
expect_eq 'a part from the last call' "$(jq -c '.calls | map(.begin)' page.json)" \
	"$(jq -c '[.[4]]' found)"
