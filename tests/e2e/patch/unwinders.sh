# SPDX-License-Identifier: Apache-2.0
# long: eu-stack reads the symbols of all files
#
# Unwinders of other processes go through thunks.
. "$TOP/tests/e2e/lib.sh"
need gcc

cat >host.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define ALONE __attribute__((noipa))
static volatile long sink;
ALONE long stop(void)
{
	char byte;
	return read(0, &byte, 1) + 1;
}
ALONE long spin(long n)
{
	for (long i = 0; i < n; i++)
		sink += i;
	return stop() + 1;
}
/* Arguments on the stack, which the thunk copies. */
ALONE long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return spin(a) + b + c + d + e + f + g + h;
}
static int compare(const void *a, const void *b)
{
	(void)a, (void)b;
	sink += many(sink % 3 + 100000, 2, 3, 4, 5, 6, 7, 8);
	return 0;
}
/* The C library, which is not moved, in between. */
ALONE long sorter(void)
{
	long list[2] = { 1, 2 };
	qsort(list, 2, sizeof(*list), compare);
	return list[0] + 1;
}
int main(int argc, char **argv)
{
	/* The first call is not among the moved instructions. */
	if (argc > 1 && argv[1][0] == 'x')
		return 1;
	printf("%ld\n", sorter());
	return 0;
}
C
gcc -O2 -o host host.c || fail 'cannot compile host.c'

# eu-stack attaches, and reads the area from memory.
type eu-stack >/dev/null 2>&1 || skip 'no eu-stack (elfutils)'
mkfifo input
"$PERFREC" record -q --patch --alloc=off --cpu=off -o data -- ./host <input >out.host 2>err.host &
recorder=$!
exec 9>input
program_waits()
{
	program=$(pgrep -P $recorder -x host) &&
		grep -q '^0 0x0' "/proc/$program/syscall" 2>/dev/null
}
wait_for 60 program_waits
eu-stack -p "$program" >attached 2>&1
echo >&9
exec 9>&-
wait $recorder
expect_eq 'exit status' $? 0
expect_eq 'output' "$(cat out.host)" 2
grep -q 'Operation not permitted' attached && skip 'eu-stack cannot attach here'
expect_eq 'frames that eu-stack finds' \
	"$(sed -n 's/^#[0-9]* *0x[0-9a-f]* \([a-z]*\)\( - .*\)*$/\1/p' attached |
		grep -E '^(stop|spin|many|compare|sorter|main)$' | tr '\n' ' ')" \
	'stop spin many compare sorter main '
