# SPDX-License-Identifier: Apache-2.0
# long: samples calls for seconds
#
# A sample in a procedure linkage table has the name of the called function, and
# "@plt". The stubs of hooks are perfrec's own: a tenth of the samples of this
# program was in a row "calls+0x1020".
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/stacks.sh"
need protoc

# Some CPUs hardly ever show a sample in a stub that is warm. With 8,192 of them
# each jump waits for its slot of the table, and samples are there on all.
awk 'BEGIN {
	for (i = 0; i < 8192; i++)
		printf "void f%d(void)\n{\n\t__asm__ volatile(\"\");\n}\n", i
}' >many.c
gcc -O0 -shared -fPIC -o libmany.so many.c || fail 'the library'
awk 'BEGIN {
	for (i = 0; i < 8192; i++)
		printf "void f%d(void);\n", i
	print "__attribute__((no_instrument_function)) static void all(void)\n{"
	for (i = 0; i < 8192; i++)
		printf "\tf%d();\n", i * 2731 % 8192
	print "}"
}' >all.h
build calls -O2 -L. -lmany -Wl,-rpath,. <<'SOURCE'
#include "all.h"
static volatile int sink;
__attribute__((noinline)) static void leaf(int x) { sink = x * 3; }
int main(void)
{
	for (int i = 0; i < 10000000; i++)
		leaf(i);
	for (int i = 0; i < 10000; i++)
		all();
	return 0;
}
SOURCE

run_ok "$PERFREC" record -q --alloc=off --cpu 997 -o data -- ./calls
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
# Functions of the dynamic linker may have no names, so only the program counts.
expect_eq 'stubs without a name' "$(jq -r '.functions[] |
	select(.name | test("^calls[+]0x|__cyg_")) | "\(.name) \(.self.samples)"' \
	view.json)" ''
expect_rows '.functions | any(.name | test("^f[0-9]+@plt$"))'

# The cost of a hook comes from the same samples, but for the kernel's. Where the
# CPU's counter is no clock, most of them are in the vdso.
own=$(json data/summary.json .cost.own_samples)
shown=$(profile_stacks data/cpu.pb.gz |
	awk '/\[perfrec\]/ { sum += $1 } END { print sum + 0 }')
[ $((own * 10)) -ge $((shown * 7)) ] ||
	fail "$own samples of perfrec in the cost, $shown in the profile"
