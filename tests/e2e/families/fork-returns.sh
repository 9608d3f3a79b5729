#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A forked child that returns from the functions which its parent called: those
# spans are the parent's, and their ends in the child no orphans. And functions
# that are inlined around a call of themselves, as leveldb's iterators are, with
# exit hooks that are tail-called: nothing is repaired.
. "$TOP/tests/e2e/lib.sh"
need jq

build program -O2 <<'SOURCE'
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
static volatile int sum;
struct iterator {
	const struct iterator *inner;
	int value;
};
NOINLINE static void leaf(void)
{
	sum++;
}
static void seek(const struct iterator *iterator);
static inline void wrapper_seek(const struct iterator *inner)
{
	seek(inner);
	sum += inner->value;
}
NOINLINE static void seek(const struct iterator *iterator)
{
	volatile char frame[100];

	frame[sum % 100] = 1;
	if (iterator->inner)
		wrapper_seek(iterator->inner);
}
NOINLINE static int make_child(void)
{
	int pid = fork();

	if (!pid)
		leaf();
	return pid;
}
NOINLINE static int run(void)
{
	int pid = make_child();

	if (!pid)
		leaf();
	return pid;
}
int main(void)
{
	struct iterator two = { 0, 2 }, one = { &two, 1 }, all = { &one, 0 };

	seek(&all);
	for (int i = 0; i < 5; i++) {
		if (!run())
			return 0;
		wait(0);
	}
	return 0;
}
SOURCE

run "$PERFREC" record --alloc=off --cpu=off -q -o data -- ./program
expect_status 0
expect_eq 'spans, orphan ends, repaired slices' \
	"$(json data/summary.json '.totals |
	"\(.spans) \(.orphan_ends) \(.repaired_slices)"')" \
	"$((1 + 5 + 5 * 4)) 0 0"
