#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Exact allocations of a program without hooks have native stacks: those of
# samples, scaled to totals that stay exact, also in use and at the peak. The files
# say so. A forked child has its own stacks. Where spans show the stack, perfrec
# scales nothing.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/stacks.sh"
need gcc protoc

prog heap/native
gcc -O1 -fno-builtin -finstrument-functions -o spans \
	"$TOP/tests/progs/heap/native.c" || fail 'cannot compile native.c'

# near WHAT GOT WANT PERCENT
near()
{
	awk -v got="$2" -v want="$3" -v percent="$4" 'BEGIN {
		exit !(got >= want * (100 - percent) / 100 &&
			got <= want * (100 + percent) / 100) }' ||
		fail "$1: $2, not within $4 % of $3"
}

# row FILE FUNCTION COLUMN: the sum over all stacks that end with FUNCTION.
row()
{
	profile_stacks "$1" | awk -v end="$2" -v column="$3" \
		'{ n = split($NF, stack, ";") }
		stack[n] == end { sum += $column } END { printf "%.0f\n", sum }'
}

run_ok "$PERFREC" record -q --cpu=off --alloc=exact -o data -- ./native
for column in 1:allocs:102000 2:alloc_bytes:16000000 3:live_blocks:7000 \
	4:live_bytes:5000000; do
	name=${column#*:}
	expect_eq "${name%:*}" "$(json data/summary.json ".totals.${name%:*}")" \
		"${name#*:}"
	expect_eq "the sum of ${name%:*}" "$(profile_stacks data/heap.pb.gz |
		awk -v n="${column%%:*}" '{ s += $n } END { printf "%.0f\n", s }')" \
		"${name#*:}"
done
expect_eq 'the sum at the peak' "$(profile_stacks data/heap-peak.pb.gz |
	awk '{ s += $4 } END { printf "%.0f\n", s }')" \
	"$(json data/summary.json .totals.peak_bytes)"
# Some 370 samples; each of these has 40 at least.
near 'mixed, allocated' "$(row data/heap.pb.gz mixed 2)" 4000000 60
near 'stays, allocated' "$(row data/heap.pb.gz stays 2)" 4000000 60
near 'goes, allocated' "$(row data/heap.pb.gz goes 2)" 8000000 60
near 'stays, in use' "$(row data/heap.pb.gz stays 4)" 4000000 30
near 'stays, at the peak' "$(row data/heap-peak.pb.gz stays 4)" 4000000 30
expect_eq 'goes, in use' "$(row data/heap.pb.gz goes 4)" 0
expect_match data/summary.json '"sampled_alloc_stacks": [1-9]'
run "$PERFREC" report --view heap data
expect_match out 'sampled, and scaled to the exact totals' 'stays  \[native\]'

run_ok "$PERFREC" record -q --alloc=exact -o forked -- ./native fork
near "a child's" "$(row forked/heap.pb.gz child 4)" 1000000 10
expect_eq 'in use, in all' "$(json forked/summary.json .totals.live_bytes)" \
	"$(profile_stacks forked/heap.pb.gz | awk '{ s += $4 } END { printf "%.0f\n", s }')"

run_ok "$PERFREC" record -q --alloc=exact -o spans.data -- ./spans
expect_eq 'stays, by spans' "$(row spans.data/heap.pb.gz stays 4)" 4000000
expect_eq 'stacks where spans are' \
	"$(json spans.data/summary.json .totals.sampled_alloc_stacks)" 0

# A program with few blocks also has stacks: 200 blocks of 24 bytes.
cat >few.c <<'SOURCE'
#include <stdlib.h>
#define LEAK(name)                                     \
	__attribute__((noinline)) static void name(void) \
	{                                              \
		void *volatile p = malloc(24);         \
		(void)p;                               \
	}
LEAK(even)
LEAK(odd)
int main(void)
{
	for (int i = 0; i < 100; i++) {
		even();
		odd();
	}
	return 0;
}
SOURCE
gcc -O1 -fno-builtin -o few few.c || fail 'cannot compile few.c'
run_ok "$PERFREC" record -q --cpu=off --alloc=exact -o few.data -- ./few
# About 40 stacks each: one run in 7,000 would be 60 % off.
near 'even' "$(row few.data/heap.pb.gz even 4)" 2400 85
near 'odd' "$(row few.data/heap.pb.gz odd 4)" 2400 85

# The block that makes the peak has its stack at the peak. If the blocks in use at
# the peak have no stack, but the allocated blocks have, there is a row for them.
cat >peak.c <<'SOURCE'
#include <stdlib.h>
__attribute__((noinline)) static void big(void)
{
	void *volatile p = malloc(50000000);

	free(p);
}
__attribute__((noinline)) static void small(size_t size)
{
	for (int i = 0; i < 1000; i++) {
		void *volatile p = malloc(size);

		free(p);
	}
}
int main(int argc, char **argv)
{
	(void)argv;
	small(100);
	if (argc > 1)
		big();
	small(100);
	return 0;
}
SOURCE
gcc -O1 -fno-builtin -fno-optimize-sibling-calls -o peak peak.c ||
	fail 'cannot compile peak.c'
run_ok "$PERFREC" record -q --cpu=off --alloc=exact -o peak.data -- ./peak big
expect_eq 'big, at the peak' "$(row peak.data/heap-peak.pb.gz big 4)" 50000000
for arguments in big ''; do
	# shellcheck disable=SC2086 # an argument or none
	run "$PERFREC" record -q --cpu=off --alloc=exact -o peak.data -- \
		./peak $arguments
	"$PERFREC" report --view heap --json peak.data >heap.json
	expect_eq 'all rows at the peak' \
		"$(json heap.json '[.functions[].self.peak_space] | add')" \
		"$(json heap.json .sum.peak_space)"
done
exit 0
