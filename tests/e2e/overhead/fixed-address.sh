#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# Programs at a fixed address, with little room below and with data of any size
# above, are recorded and counted from their first call on: entry builds and
# calls builds.
. "$TOP/tests/e2e/lib.sh"
need gcc jq

cat >fixed.c <<'EOS'
#ifdef GIB
static char data[GIB * (1l << 30) + 7];
#endif
__attribute__((noinline)) int f_called(int x)
{
	__asm__ volatile("");
	return x + 1;
}
int main(void)
{
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += f_called(i);
#ifdef GIB
	data[sizeof(data) - 1] = 1;
	__asm__ volatile("" : : "r"(data) : "memory");
#endif
	return sum == 0;
}
EOS

tried=0
# try WHAT COMPILER FLAG...: skipped where the plain program does not link.
try()
{
	"$@" -w fixed.c -o plain 2>/dev/null || return 0
	"$PERFREC" cc --hooks=entry "$@" -w fixed.c -o program ||
		fail "$*: entry"
	rm -rf data
	run "$PERFREC" record -q -o data -- ./program
	expect_status 0
	expect_eq "$*: spans" "$(json data/summary.json .totals.spans)" 1001
	"$PERFREC" cc --hooks=calls "$@" -w fixed.c -o program ||
		fail "$*: calls"
	rm -rf data
	run "$PERFREC" record -q --count '*' -o data -- ./program
	expect_status 0
	expect_eq "$*: calls" \
		"$(json data/summary.json .totals.counted_calls)" 1001
	tried=$((tried + 1))
}

fixed='-O2 -no-pie -fno-pie'
for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	# shellcheck disable=SC2086 # words
	{
		try $compiler $fixed
		try $compiler $fixed -fno-plt
		try $compiler $fixed -Wl,-Ttext-segment=0x60000000
		try $compiler $fixed -DGIB=1
		try $compiler $fixed -Wl,--hash-style=both
	}
done
try gcc -O2 -fpie -pie -mcmodel=medium -DGIB=3
[ $tried -ge 4 ] || fail "only $tried programs were tried"
