#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long: builds with each compiler and option
#
# Entry builds of programs that pass values of all kinds and leave functions in
# all ways say the same as the plain programs: alone, recorded whole, counted,
# switched off, and within a budget. Counts are what the programs do.
. "$TOP/tests/e2e/lib.sh"
need gcc g++

export XDG_CACHE_HOME="$PWD/cache"
mkdir cache
rounds=3000
avx=
grep -qw avx2 /proc/cpuinfo && avx=-mavx2

# calls NAME: of the functions with this name, in the last recording.
calls()
{
	json data/summary.json "[.functions[] |
		select(.name | test(\"^$1([(]|\$)\")).calls] | add // 0"
}

# expect_counts: each call of the functions of ./counts was counted: NUMBER NAME.
expect_counts()
{
	while read -r number name; do
		expect_eq "$1: calls of $name" "$(calls "$name")" "$number"
	done <counts
}

# try SOURCE COMPILER FLAG...
try()
{
	source=$1
	shift
	what="$* $source"
	"$@" -w "$TOP/tests/progs/entry/$source" -o plain -pthread ||
		fail "$what: plain"
	./plain $rounds >expected || fail "$what: plain"
	"$PERFREC" cc --hooks=entry "$@" -w "$TOP/tests/progs/entry/$source" \
		-o program -pthread || fail "$what: entry"
	run_ok ./program $rounds
	cmp out expected || fail "$what: alone"
	for options in '' '--count *' '--exclude *' '--overhead 1% --no-cache'; do
		rm -rf data
		set -f
		# shellcheck disable=SC2086 # words
		run "$PERFREC" record -q $options -o data -- ./program $rounds
		set +f
		expect_status 0
		cmp out expected || fail "$what: record $options"
		"$O/tests/tools/trace_check" data/trace.pftrace >checked ||
			fail "$what: record $options: $(cat checked)"
		case $options in
		'' | '--count'*) expect_counts "$what: record $options" ;;
		'--exclude'*)
			expect_eq "$what: spans" \
				"$(json data/summary.json .totals.spans)" 0
			;;
		esac
	done
}

values="v_integers v_doubles v_long_double v_complex v_complex_double v_wide
	v_large v_mixed v_vector v_varargs v_tail v_tail_pointer v_tail_end
	v_tail_doubles v_tail_varargs v_jump_back v_jump v_recursion v_switch"
for name in $values; do
	case $name in
	v_doubles | v_recursion) echo $((2 * rounds)) $name ;;
	*) echo $rounds $name ;;
	esac
done >values.counts
echo "$((8 * rounds)) f_leaf
$((2 * rounds)) f_catch
$((2 * rounds)) f_thrower
$rounds f_yield" >flow.counts
# One more resume, to begin the coroutine; it is then in a call.
sed -i "s/^$rounds f_yield/$((rounds + 1)) f_yield/" flow.counts

tried=0
for compiler in gcc gcc-11 clang clang-19; do
	command -v "$compiler" >/dev/null || continue
	for flags in -O0 "-O2 $avx"; do
		cp values.counts counts
		# shellcheck disable=SC2086 # words
		try values.c "$compiler" $flags
		tried=$((tried + 1))
	done
done
for compiler in g++ clang++ clang++-19; do
	command -v "$compiler" >/dev/null || continue
	for flags in -O0 -O2; do
		cp flow.counts counts
		try flow.cc "$compiler" $flags
		tried=$((tried + 1))
	done
done
[ $tried -ge 4 ] || fail "only $tried programs were tried"
