#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds every C and C++ program of a folder, such as the tests of another tracer,
# with `perfrec cc` before gcc and clang, at -O0 and -O2, records it, and checks
# whether
#
#     output and exit status are the same as without recording;
#     the calls of each function are those of a counting library in the same
#     run, in the summary and in the trace, which keeps every rule;
#     nothing was lost, repaired or an orphan;
#     in the trace, every path of calls occurs as often as the counting library
#     counted it.
#
# usage: programs-of.sh BUILD FOLDER [NAME...]
#
# BUILD is the make's $(O). A source is NAME.c, NAME.cpp or s-NAME.c ...; a source
# without main() becomes a library that the others are linked with. The folder is
# only read. COMPILERS and LEVELS may be other ones, a level several flags with
# commas between them ("-O3,-flto"). Prints a line for each program; the exit status
# is 1 if one is wrong, or if there was nothing to compare.
#
# The line says why paths differ from the counting library: "jumps" where control
# jumps (longjmp, contexts, exit() in a thread, exceptions in clang's code, which
# calls no hooks as it unwinds; then slices may be repaired), "no names" where a
# library was unloaded and the counting library cannot name its functions, "no
# calls" where no hook was called.
#
# uftrace's tests (commit a0e54077 of its repository, 85 sources with a main())
# are all right, with gcc 12 and clang 14, at -O0, -O1, -O2, -Os and -O3,-flto:
# 835 runs, and 788 have the trees of the counting library. Not built are
# unittest.c (uftrace's own, no program) and, by clang, s-nested.c (functions in
# functions); s-sdt.c needs <sys/sdt.h>, s-signal2.c the folder in its tree.
# Without a tree: s-dlopen.c (no names), and 2 to 7 that jump, which were compared
# with their sources by eye at -O0. uftrace 0.13 agreed at -O0 and -O2, except for
# thread-specific destructors and later calls of a thread, which it does not see
# (s-thread-tsd.c, s-malloc-tsd.c): there the counting library does.
set -u

build=$(cd "$1" && pwd) || exit 2
folder=$(cd "$2" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
shift 2
# shellcheck source=tests/real/compare.sh
. "$here/compare.sh"

export PERFREC_DEADLINE_MS=20000
: "${COMPILERS:=gcc clang}" "${LEVELS:=-O0 -O2}"
PATH=$build:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0 right=0 trees=0
jumping='longjmp|throw|setcontext|swapcontext|pthread_exit|pthread_cancel'

# sources main|library: files of the folder.
sources()
{
	for file in "$folder"/*.c "$folder"/*.cpp "$folder"/*.cc; do
		[ -e "$file" ] || continue
		if grep -Eq '(^|[^a-z_])main *\(' "$file"; then
			[ "$1" = main ] && echo "$file"
		else
			[ "$1" = library ] && echo "$file"
		fi
	done
}

# name_of FILE: without its folder, suffix, and "s-" in front.
name_of()
{
	name=${1##*/}
	name=${name%.*}
	echo "${name#s-}"
}

# compile FILE FLAG...: as C or C++, with hooks.
compile()
{
	file=$1
	shift
	case $file in
	*.c) command="perfrec cc $compiler" ;;
	*) command="perfrec c++ $(echo "$compiler" |
		sed 's/gcc/g++/; s/clang/clang++/')" ;;
	esac
	$command -w -fno-builtin $level "$@" "$file" $libraries -pthread -ldl \
		-lm >>build.log 2>&1
}

# Libraries may use each other: the second time they are linked with the existing
# ones.
build_libraries()
{
	libraries=
	for round in 1 2; do
		made=
		for file in $(sources library); do
			name=$(name_of "$file")
			[ "$name" = lib ] && name=libabc_test_lib
			compile "$file" -shared -fPIC -Wl,--as-needed \
				-Wl,-rpath,. -o "lib${name#lib}.so.$round" &&
				mv "lib${name#lib}.so.$round" \
					"lib${name#lib}.so" &&
				made="$made ./lib${name#lib}.so"
		done
		libraries=$made
	done
}

# output NAME COMMAND...: stdout, stderr and the exit status to NAME.*.
output()
{
	to=$1
	shift
	status=0
	timeout -k 5 60 "$@" </dev/null >"$to.out" 2>"$to.err" || status=$?
	echo $status >"$to.status"
}

same_output()
{
	for part in out err status; do
		cmp -s "plain.$part" "recorded.$part" || return 1
	done
}

# Some programs print addresses, times or ids, so digits do not count then.
without_digits()
{
	for part in plain.out plain.err recorded.out recorded.err; do
		sed -i 's/0x[0-9a-f]*/N/g; s/[0-9][0-9]*/N/g' $part
	done
}

# folded: events B|E<TAB>thread<TAB>name to paths with how often.
folded()
{
	awk -F '\t' '
	$1 == "B" {
		at = ++depth[$2]
		path[$2, at] = path[$2, at - 1] ";" $3
		count[path[$2, at]]++
	}
	$1 == "E" && depth[$2] > 0 { depth[$2]-- }
	END { for (one in count) print count[one] "\t" one }' | sort
}

our_tree()
{
	"$build/tests/tools/trace_check" --dump data/trace.pftrace |
		sed -n 's/^\([BE]\) [0-9]* \([^ ]*\) [0-9]* [0-9]* /\1\t\2\t/p' |
		folded
}

# Names that share an address are one, as in what the counting library says.
same_names()
{
	awk -F '\t' '
	FNR == 1 { file++ }
	file == 1 {
		count = split($2, names, "|")
		for (i = 1; count > 1 && i <= count; i++)
			if (names[i] != "")
				joined[names[i]] = $2
		next
	}
	{
		count = split($2, names, ";")
		path = ""
		for (i = 2; i <= count; i++)
			path = path ";" (names[i] in joined ? \
				joined[names[i]] : names[i])
		calls[path] += $1
	}
	END { for (path in calls) print calls[path] "\t" path }' counts - | sort
}

# check_tree COUNTFILE...: the paths of the trace are those of the counter.
check_tree()
{
	[ "$no_tree" = ', no names' ] && return
	"$build/tests/tools/count_names" --paths "$@" >theirs.paths \
		2>>wrong || return
	same_names <theirs.paths >theirs.tree
	our_tree >ours.paths
	same_names <ours.paths >ours.tree
	if [ ! -s theirs.tree ]; then
		echo 'tree: nothing to compare it with' >>wrong
	elif diff theirs.tree ours.tree >tree.diff; then
		trees=$((trees + 1))
		no_tree=
	elif [ -z "$no_tree" ]; then
		sed 's/^[<>]/tree: &/; /^[0-9-]/d' tree.diff >>wrong
	fi
}

# The counting library has no names of unloaded functions: all calls together.
same_sums()
{
	grep -Eq ': (0x[0-9a-f]+|frame_dummy): ' said.err || return 1
	no_tree=', no names'
	[ "$(awk '{ sum += $1 } END { print sum }' counts)" = \
		"$(awk '{ sum += $1 } END { print sum }' counts.trace)" ]
}

number()
{
	jq ".totals.$1 // 0" data/summary.json
}

# check NAME: checks the program; errors go to ./wrong.
check()
{
	rm -rf data count.* counts* wrong
	output plain "./$1"
	# Children with an environment of their own lack the counting library, so
	# perfrec is not to record them either (s-posix_spawn.c).
	COUNT_OUT=$PWD/count LD_PRELOAD=$build/tests/progs/libcount_preload.so \
		output recorded perfrec record -q --follow --inherit off \
		--on-full block -o data -- "./$1"
	if ! same_output; then
		output plain "./$1"
		without_digits
		same_output || { diff plain.out recorded.out
			diff plain.err recorded.err
			diff plain.status recorded.status; } |
			sed -n 's/^\([<>]\)/output: &/p' >>wrong
	fi
	[ -e data/summary.json ] || {
		echo 'no recording' >>wrong
		return
	}
	no_tree=$(grep -Eq "$jumping" "$file" && echo ', jumps')
	jumps=$no_tree
	name=$1
	set -- count.*[0-9]
	if [ -e "$1" ]; then
		compare_counts "$name" "$build" data counts "$@" \
			>said 2>said.err || same_sums || cat said.err >>wrong
		calls=$(awk '{ sum += $1 } END { print sum + 0 }' counts)
		check_tree "$@"
	else
		calls=$(number spans)
		no_tree=', no calls'
		[ "$calls" = 0 ] || echo "$calls spans, counted none" >>wrong
	fi
	for total in repaired_slices orphan_ends; do
		[ "$(number $total)" = 0 ] || [ -n "$jumps" ] ||
			echo "$(number $total) $total" >>wrong
	done
}

# one FILE: build it, check it, and say how it went.
one()
{
	file=$1
	name=$(name_of "$file")
	calls=0 no_tree=
	: >build.log
	if ! compile "$file" -Wl,--as-needed -Wl,-rpath,. -o "t-$name"; then
		echo "skip   $name $compiler $level: cannot build it:" \
			"$(grep -m 1 error build.log | cut -c 1-200)"
		return
	fi
	check "t-$name"
	name=$(name_of "$file")
	if [ -s wrong ]; then
		echo "not ok $name $compiler $level: $calls calls$no_tree"
		head -n 6 wrong | cut -c 1-160 | sed 's/^/       | /'
		wrong=$((wrong + 1))
	else
		right=$((right + 1))
		echo "ok     $name $compiler $level: $calls calls$no_tree"
	fi
}

wanted=$*
for compiler in $COMPILERS; do
	command -v "$compiler" >/dev/null || {
		echo "skip   $compiler: not installed"
		continue
	}
	for level in $LEVELS; do
		mkdir -p "$work/$compiler$level"
		cd "$work/$compiler$level" || exit 2
		level=$(echo "$level" | tr , ' ')
		build_libraries
		# All first: some start others.
		for source in $(sources main); do
			compile "$source" -Wl,--as-needed -Wl,-rpath,. \
				-o "t-$(name_of "$source")"
		done
		for source in $(sources main); do
			case " ${wanted:-$(name_of "$source")} " in
			*" $(name_of "$source") "*) one "$source" ;;
			esac
		done
	done
done
echo "$right right, the trees of $trees compared; $wrong wrong"
[ "$wrong" -eq 0 ] && [ "$right" -gt 0 ]
