# SPDX-License-Identifier: Apache-2.0
#
# A program locks all its memory. Where no function calls thunks yet, the area
# of thunks is not locked with the rest, but given back; its states cannot be
# changed then, and perfrec ctl says why. Where functions call them, they go on.
. "$TOP/tests/e2e/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip 'thunks are for x86-64'
build locks <<'SOURCE'
#include <stdio.h>
#include <sys/mman.h>
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
__attribute__((no_instrument_function)) int main(void)
{
	int refused;

	leaf();
	refused = mlockall(MCL_CURRENT | MCL_FUTURE);
	printf("%d\n", refused);
	fflush(stdout);
	if (refused || getchar() == EOF)
		return refused ? 77 : 1;
	for (int i = 0; i < 100; i++)
		leaf();
	return 0;
}
SOURCE

# start OPTION...: the program has locked its memory and waits for a line.
start()
{
	rm -f input out.locks
	rm -rf data
	mkfifo input
	"$PERFREC" record -q "$@" -o data -- ./locks <input >out.locks 2>err.locks &
	recorder=$!
	exec 9>input
	wait_for 60 test -s out.locks
	[ "$(cat out.locks)" = 0 ] || skip 'memory cannot be locked here'
}
go_on()
{
	echo >&9
	exec 9>&-
	wait $recorder || fail "exit status $?: $(cat err.locks)"
}
calls()
{
	json data/summary.json "[.functions[] | select(.name == \"leaf\") | .$1] |
		add"
}

start
"$PERFREC" ctl -o data functions --off leaf >out 2>err
cat out err
grep -q 'had locked its memory' out err || fail 'the reason is not told'
go_on

start --count leaf
go_on
expect_eq 'calls of leaf' "$(calls calls)" 101
[ "$(calls recorded)" -lt 50 ] || fail "$(calls recorded) calls were recorded"
