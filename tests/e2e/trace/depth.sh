#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: compares many depths
#
# --depth N shows what a recording without it shows, cut at depth N: whatever
# the compiler inlined, however control went.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/nesting.sh"

# record_at N FILE [ARGUMENT...]: the calls of ./program to FILE, in their order
# on each track, as deep as they are.
record_at()
{
	limit=$1
	file=$2
	shift 2
	rm -rf data
	run_ok "$PERFREC" record --alloc=off --cpu=off -q -o data \
		${limit:+--depth "$limit"} -- ./program "$@"
	"$O/tests/tools/trace_check" --dump data/trace.pftrace >dump ||
		fail "$what: the trace at depth ${limit:-all} is broken"
	# Threads are numbered as they began.
	sort -k3,3n -k4,4n -s dump | awk '/ perfrec: waiting / { next }
	{
		thread = track = $3
		sub(/\/.*/, "", thread)
		sub(/^[0-9]+/, "", track)
		threads += thread != last
		last = thread
		print $1, threads track, $5, $6
	}' | sort -s -k2,2 >"$file"
}

# check_depths N...: calls that are open when the program ends have no end.
check_depths()
{
	record_at '' whole "$arguments"
	for depth in "$@"; do
		awk -v depth="$depth" '$3 < depth' whole >expected
		record_at "$depth" got "$arguments"
		if ! cmp -s expected got; then
			diff expected got | head -n 20
			fail "$what: depth $depth is < and should not be >"
		fi
		expect_eq "$what: spans at $depth" \
			"$(json data/summary.json .totals.spans)" \
			"$(grep -c '^B' expected)"
		expect_eq "$what: orphan ends at $depth" \
			"$(json data/summary.json .totals.orphan_ends)" 0
	done
}

export NESTING_LOG=/dev/null
arguments=
seed=0
for language in C C++; do
	for compiler in $(compilers $language); do
		for optimise in -O0 -O2; do
			seed=$((seed + 1))
			what="seed $seed by $compiler $optimise"
			case $language in
			C) flags='-x c' exceptions=0 ;;
			*) flags='-x c++' exceptions=1 ;;
			esac
			awk -v seed=$seed -v exceptions=$exceptions \
				-f "$TOP/tests/e2e/lib/random-calls.awk" \
				>random.c
			# shellcheck disable=SC2086 # two words
			"$compiler" $flags $optimise -g -w -o program \
				-finstrument-functions random.c ||
				fail "cannot compile $what"
			check_depths 2 6
		done
	done
done

# Handlers on stacks of their own, copied jump buffers, contexts, threads.
for program in jumps contexts; do
	build_nesting $program "${CC:-gcc}" -O2
	mv $program program
	what=$program
	check_depths 1 3
done

# A full ring drops spans, but moves none. Inlined, recursive, deeper than the
# shim remembers.
build program -O2 <<'SOURCE'
static volatile long calls;
static inline void leaf(void)
{
	calls++;
}
__attribute__((noinline)) static void nest(int depth)
{
	leaf();
	if (depth)
		nest(depth - 1);
	leaf();
}
int main(void)
{
	for (int i = 0; i < 2000; i++)
		nest(i * 7 % 200);
	nest(10000);
	return 0;
}
SOURCE
for mode in block drop; do
	for depth in 3 150 9000; do
		[ $depth-$mode = 9000-drop ] && continue
		# Calls of main, nest and leaf.
		case $depth in
		3) expected=7995 ;;
		150) expected=562626 ;;
		*) expected=629996 ;;
		esac
		rm -rf data
		run_ok "$PERFREC" record --alloc=off --cpu=off -q -o data \
			--depth $depth --on-full $mode --ring-size 64K -- \
			./program
		expect_eq "$mode, depth $depth: spans, orphans, repairs" \
			"$(json data/summary.json '.totals | "\(.spans +
			.dropped_spans) \(.orphan_ends) \(.repaired_slices)"')" \
			"$expected 0 0"
	done
done
