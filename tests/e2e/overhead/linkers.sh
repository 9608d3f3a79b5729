#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# Each linker makes other calls, notes, tables and stubs. Entry builds and calls
# builds of all of them are recorded and counted from their first call on.
. "$TOP/tests/e2e/lib.sh"
need gcc jq

cat >linked.c <<'EOS'
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
	return sum == 0;
}
EOS

tried=0
# try COMPILER FLAG...: skipped where the plain program does not link.
try()
{
	"$@" linked.c -o plain 2>/dev/null || return 0
	"$PERFREC" cc --hooks=entry "$@" -w linked.c -o program ||
		fail "$*: entry"
	rm -rf data
	run "$PERFREC" record -q -o data -- ./program
	expect_status 0
	expect_eq "$*: spans" "$(json data/summary.json .totals.spans)" 1001
	"$PERFREC" cc --hooks=calls "$@" -w linked.c -o program ||
		fail "$*: calls"
	rm -rf data
	run "$PERFREC" record -q --count '*' -o data -- ./program
	expect_status 0
	expect_eq "$*: calls" \
		"$(json data/summary.json .totals.counted_calls)" 1001
	tried=$((tried + 1))
}

for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	for linker in bfd gold lld mold; do
		try $compiler -O2 -fuse-ld=$linker
		try $compiler -O2 -fno-pie -no-pie -fuse-ld=$linker
	done
done
try gcc -O1 -fno-plt -fuse-ld=mold
try gcc -O1 -fcf-protection=none -Wl,-z,now -fuse-ld=mold
[ $tried -ge 4 ] || fail "only $tried programs were tried"
