#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Ends of threads, children of vfork() and jumps that leave no record: calls are
# right, the trace is well formed, and missing events have their true reason.
# Destructors of the last round got a track of their own; calls of vfork children
# counted as calls of threads without a slot.
. "$TOP/tests/e2e/lib.sh"

# recorded PROGRAM: its output goes to out.
recorded()
{
	./"$1" >expected 2>&1
	run_ok timeout 200 "$PERFREC" record -q --alloc=off --cpu=off -o data ./"$1"
	cmp -s expected out || fail "$1: output has changed"
	"$O/tests/tools/trace_check" data/trace.pftrace ||
		fail "$1: a rule is broken"
}

# expect_calls FUNCTION CALLS
expect_calls()
{
	expect_eq "calls of $1" "$(json data/summary.json ".functions[] |
		select(.name == \"$1\") | .calls")" "$2"
}

# Four rounds of destructors, by a key of the program before ours are made and
# by one after; a thread that leaves by pthread_exit() has spans open.
prog trace/tsd
recorded tsd
expect_eq 'threads' "$(json data/summary.json .totals.threads)" 5
expect_calls destructor 128
expect_calls leaf 128
expect_eq 'slices left by pthread_exit()' \
	"$(json data/summary.json .totals.repaired_slices)" 4

build vforks <<'SOURCE'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static int leaf(int x) { return x + 1; }
int main(void)
{
	for (int i = 0; i < 5; i++) {
		if (vfork() == 0) {
			leaf(i);
			_exit(3);
		}
		wait(NULL);
		leaf(i);
	}
	puts("done");
	return 0;
}
SOURCE
recorded vforks
expect_calls leaf 5
expect_eq 'what is lost' "$(json data/summary.json '.totals |
	"\(.vfork_spans) \(.unslotted_spans) \(.muted_spans)"')" '5 0 0'
run "$PERFREC" report data
expect_match out 'lost +5 calls of vfork\(\) children'
expect_no_match out 'free slot'

# Inline code of gcc, and a switch of stacks as Boost.Context has it.
build builtin <<'SOURCE'
#include <stdio.h>
static void *buffer[5];
static volatile int n;
__attribute__((noinline)) static void thrower(int x)
{
	n += x;
	__builtin_longjmp(buffer, 1);
}
__attribute__((noinline)) static void middle(int x) { thrower(x); n++; }
__attribute__((noinline)) static int leaf(int x) { return x + n; }
__attribute__((noinline)) static int once(int i)
{
	if (__builtin_setjmp(buffer) == 0)
		middle(i);
	return leaf(i);
}
int main(void)
{
	int sum = 0;

	for (int i = 0; i < 5; i++)
		sum += once(i);
	printf("%d\n", sum + leaf(1));
	return 0;
}
SOURCE
recorded builtin
for function in thrower middle once; do
	expect_calls $function 5
done
expect_calls leaf 6
expect_eq 'slices that were left' \
	"$(json data/summary.json .totals.repaired_slices)" 10

[ "$(uname -m)" = x86_64 ] || exit 0
prog trace/switches
recorded switches
expect_calls leaf 24
expect_calls step 12

# A C++ runtime inside the executable: where it lands nobody sees.
command -v clang++ >/dev/null || exit 0
cat >throws.cc <<'SOURCE'
#include <cstdio>
static volatile int n;
__attribute__((noinline)) static void foo() { n++; throw 1; }
__attribute__((noinline)) static void bar() { n++; }
int main()
{
	try { foo(); } catch (int) { }
	bar();
	printf("%d\n", n);
}
SOURCE
clang++ -O1 -finstrument-functions -static-libstdc++ -static-libgcc \
	-o throws throws.cc || fail 'cannot compile throws.cc'
recorded throws
expect_calls 'foo()' 1
expect_calls 'bar()' 1
expect_eq 'slices that were left' \
	"$(json data/summary.json .totals.repaired_slices)" 1
