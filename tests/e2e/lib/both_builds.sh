# SPDX-License-Identifier: Apache-2.0
#
# both_builds.sh - an entry build and a calls build of one program, called.c. Sourced
# after lib.sh.

# It makes 1,001 calls. With GIB it has that many GiB of .bss.
cat >called.c <<'EOS'
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
# try COMPILER FLAG...: the entry build of called.c has its spans, and the calls build
# its counts. Left out where the plain program does not link.
try()
{
	"$@" -w called.c -o plain 2>/dev/null || return 0
	"$PERFREC" cc --hooks=entry "$@" -w called.c -o program ||
		fail "$*: entry"
	rm -rf data
	run_ok "$PERFREC" record -q -o data -- ./program
	expect_eq "$*: spans" "$(json data/summary.json .totals.spans)" 1001
	"$PERFREC" cc --hooks=calls "$@" -w called.c -o program ||
		fail "$*: calls"
	rm -rf data
	run_ok "$PERFREC" record -q --count '*' -o data -- ./program
	expect_eq "$*: calls" \
		"$(json data/summary.json .totals.counted_calls)" 1001
	tried=$((tried + 1))
}
