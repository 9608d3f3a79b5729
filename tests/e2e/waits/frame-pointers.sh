# SPDX-License-Identifier: Apache-2.0
#
# Stacks of waits in programs with frame pointers, as perfrec cc builds them, are
# whole. They ended at functions that are called by a pointer, and had functions
# twice that move their stack pointer.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip 'the kernel tells of no switches'
cat >sleeper.c <<'SOURCE'
#include <alloca.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static int leaf(int n)
{
	usleep(3000);
	return n + 1;
}

NOINLINE static int moves(int n)
{
	char *bytes = alloca(n);

	memset(bytes, n, n);
	return leaf(n) + bytes[n / 2];
}

NOINLINE static int recurse(int n)
{
	return n > 100 ? recurse(n - 100) + 1 : leaf(n) + 1;
}

NOINLINE static int branches(int n)
{
	int sum = n * 3;

	if (n < 0)
		return sum;
	switch (n % 5) {
	case 0: sum += leaf(n) * 3; break;
	case 1: sum -= leaf(n + 1) * n; break;
	case 2: sum *= leaf(n + sum); break;
	case 3: sum ^= leaf(n - sum); break;
	default: sum |= leaf(sum) + n; break;
	}
	return sum;
}

static int (*volatile function[])(int) = { leaf, moves, recurse, branches };

NOINLINE static int calls(int n)
{
	int sum = 0;

	for (int i = 0; i < 4; i++)
		sum += function[i](n + 100) + 1;
	return sum;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 10; i++)
		sum += calls(i);
	return sum == 12345;
}
SOURCE

for build in 'gcc -O0' 'gcc -O1 -fno-omit-frame-pointer' \
	'gcc -O2 -fno-omit-frame-pointer' 'clang -O2 -fno-omit-frame-pointer' \
	"$PERFREC cc gcc -O2" "$PERFREC cc clang -O2"; do
	# shellcheck disable=SC2086 # a command
	$build -g -o sleeper sleeper.c 2>/dev/null || continue
	rm -rf data
	run_ok "$PERFREC" record -q -o data -- ./sleeper
	run_ok "$PERFREC" export --to folded --value blocked data
	grep 'leaf;usleep' out >stacks || fail "$build: no stack of leaf()"
	if grep -vE 'main;calls;(moves;|branches;|(recurse;){1,5})?leaf;usleep' \
		stacks
	then
		fail "$build: stacks that are not whole"
	fi
done
