# SPDX-License-Identifier: Apache-2.0
#
# Programs that replace each other by exec() are threads with one tid on the page, each
# with the states of its own time: each had those of all programs.
. "$TOP/tests/e2e/lib.sh"
need python3

build chain <<'SOURCE'
#include <unistd.h>
__attribute__((noinline)) static void nap(void) { usleep(20000); }
int main(int argc, char **argv)
{
	char *words[] = { argv[0], "last", NULL };

	nap();
	return argc < 2 ? execv(argv[0], words) : 0;
}
SOURCE
run_ok "$PERFREC" record -q --sched on -o data ./chain
run_ok "$PERFREC" report --html page.html data
python3 "$TOP/tests/tools/page_read.py" page.html >page.json || fail 'the page breaks the rules'
expect_eq 'programs' "$(jq '[.threads[] | select(. == "chain")] | length' page.json)" 2
