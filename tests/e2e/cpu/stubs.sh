# SPDX-License-Identifier: Apache-2.0
#
# A sample in a procedure linkage table has the name of the called function, and
# "@plt". The stubs of hooks are perfrec's own: a tenth of the samples of this
# program was in a row "calls+0x1020".
. "$TOP/tests/e2e/lib.sh"
need jq

build calls -O2 -fno-builtin <<'SOURCE'
#include <string.h>
static volatile int sink;
__attribute__((noinline)) static void leaf(int x) { sink = x * 3; }
int main(void)
{
	char text[99] = "";
	for (int i = 0; i < 10000000; i++)
		leaf(i);
	for (int i = 0; i < 200000000; i++)
		sink = strlen(text + (i & 1));
	return 0;
}
SOURCE

run "$PERFREC" record -q --alloc=off --cpu 997 -o data -- ./calls
expect_status 0
if jq -e '.notes | any(test("^no CPU samples"))' data/summary.json >/dev/null
then
	skip 'perf_event is denied here'
fi
"$PERFREC" report --view cpu --json data >view.json || fail 'no view'
# expect_rows FILTER: the jq filter must be true for the rows of the table.
expect_rows()
{
	jq -e "$1" view.json >/dev/null ||
		fail "not true: $1: $(jq -c '.functions[:8]' view.json)"
}
expect_rows '[.functions[].self.samples] | add >= 100'
expect_rows '[.functions[].name | select(test("0x|__cyg_"))] == []'
expect_rows '.functions | any(.name == "strlen@plt")'
