#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# patch.sh [CALLS] - what a call of a function without hooks costs more under
# `perfrec record --patch`, in ns. Prints a line for each state: the least of five
# rounds, minus that of the program alone. The program calls functions with no, two
# and nine arguments, three of these on the stack. The last rows measure the same
# program with hooks; --patch moves the functions of an entry build. In the rows "short"
# the least of 300 rounds of 2,000 calls counts, and the collector reads the ring after
# each: a call with arguments takes so many cells that the ring is full in a longer
# round, and the row would show what a dropped call costs. Such rows also hold on a busy
# machine.
set -eu

O=$(cd "${O:-build}" && pwd)
include=$(cd preload && pwd)
calls=${1:-20000000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >calls.c <<'SOURCE'
#include <perfrec.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define ALONE __attribute__((noinline, noclone))
static volatile long sink;
static ALONE void none(void)
{
	__asm__ volatile("" ::: "memory");
}
static ALONE long two(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a + b;
}
static ALONE long nine(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	__asm__ volatile("" ::: "memory");
	return a + b + c + d + e + f + g + h + i;
}
static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
static void run_none(long n)
{
	while (n--)
		none();
}
static void run_two(long n)
{
	while (n--)
		sink = two(n, 1);
}
static void run_nine(long n)
{
	while (n--)
		sink = nine(n, 1, 2, 3, 4, 5, 6, 7, 8);
}
int main(int argc, char **argv)
{
	static void (*const run[])(long) = { run_none, run_two, run_nine };
	long calls = argc > 1 ? atol(argv[1]) : 1;
	long rounds = argc > 2 ? atol(argv[2]) : 5;

	for (int i = 0; i < 3; i++) {
		double least = 1e18;
		for (long round = 0; round < rounds; round++) {
			double begin = now(), took;
			run[i](calls);
			took = now() - begin;
			least = took < least ? took : least;
			if (argc > 2)
				perfrec_flush();
		}
		printf("%.2f ", least / (double)calls);
	}
	puts("");
	return 0;
}
SOURCE
gcc -g -O2 -I"$include" -o calls calls.c
"$O/perfrec" cc --hooks=entry -- gcc -O2 -I"$include" -o entry calls.c
"$O/perfrec" cc -- gcc -O2 -I"$include" -o hooks calls.c

# row NAME COMMAND...: what its program prints, minus that of the program alone.
row()
{
	name=$1
	shift
	"$@" >out 2>err || {
		cat err >&2
		exit 1
	}
	paste -d' ' out plain | awk -v name="$name" '{
		printf "%-28s %8.1f %8.1f %8.1f\n", name, $1 - $4, $2 - $5, $3 - $6 }'
}

./calls "$calls" >plain
printf '%-28s %8s %8s %8s\n' 'ns a call more than alone' none two nine
quiet='--alloc=off --cpu=off --sched=off -q -o data --on-full=drop'
# shellcheck disable=SC2086 # several words
{
	row off "$O/perfrec" record --patch --exclude '*' $quiet -- ./calls "$calls"
	row counted "$O/perfrec" record --patch --count '*' $quiet -- ./calls "$calls"
	row recorded "$O/perfrec" record --patch $quiet -- ./calls $((calls / 20))
	row 'recorded, short rounds' "$O/perfrec" record --patch $quiet -- \
		./calls 2000 300
	row 'arguments, short rounds' "$O/perfrec" record --patch --args '*' $quiet -- \
		./calls 2000 300
	row 'recorded, entry build' "$O/perfrec" record $quiet -- ./entry $((calls / 20))
	row 'counted entry, short' "$O/perfrec" record --count '*' $quiet -- \
		./entry 2000 300
	row 'the same moved, --patch' "$O/perfrec" record --patch --count '*' $quiet -- \
		./entry 2000 300
	row 'recorded entry, short' "$O/perfrec" record $quiet -- ./entry 2000 300
	row 'the same moved, --patch' "$O/perfrec" record --patch $quiet -- \
		./entry 2000 300
	row 'recorded, calls build' "$O/perfrec" record $quiet -- ./hooks $((calls / 20))
}
