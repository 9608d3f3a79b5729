#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Records real programs (fetch-build.sh) and compares, function by function,
# three counts of the calls of the same run: of a counting library behind
# perfrec's hooks, of summary.json, and of the trace. Nothing may be lost, the
# trace must keep every rule, and the program's output must be the one it has
# without perfrec.
#
# usage: record-real.sh [--quick] BUILD DIR
#
# BUILD is the make's $(O); DIR caches the programs. --quick records a few
# million calls of each program, else it is at least fifty million. Ends with a
# line "N passed, N failed, N skipped". Exits with 77 when the programs' sources
# cannot be fetched.
set -eu

quick=no
if [ "$1" = --quick ]; then
	quick=yes
	shift
fi
build=$(cd "$1" && pwd)
dir=$2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/real/compare.sh
. "$here/compare.sh"
# shellcheck source=tests/real/parts.sh
. "$here/parts.sh"

need_tools "$build"
if [ "$quick" = yes ]; then
	sh "$here/fetch-build.sh" "$dir" --quick
else
	sh "$here/fetch-build.sh" "$dir"
fi
dir=$(cd "$dir" && pwd)
work=$(mktemp -d "$dir/run.XXXXXX")
trap 'rm -rf "$work"' EXIT

# output FOLDER: run the command given after it, with its input from $input;
# stdout, stderr and the exit status go to files in FOLDER.
output() {
	folder=$1
	shift
	mkdir -p "$folder"
	status=0
	"$@" <"$input" >"$folder/out" 2>"$folder/err" || status=$?
	echo "exit status $status" >"$folder/status"
}

# record NAME INPUT OPTIONS COMMAND...: plain, then with `perfrec record
# OPTIONS`, and all is compared. Adds the calls to $work/calls.
record() {
	name=$1
	input=$2
	options=$3
	out=$work/$name
	shift 3
	output "$out/plain" "$@"
	# shellcheck disable=SC2086 # a list of options
	output "$out/recorded" env COUNT_OUT="$out/count" \
		LD_PRELOAD="$build/tests/progs/libcount_preload.so" \
		"$build/perfrec" record --quiet --on-full block \
		--max-size 64G $options -o "$out/data" -- "$@"
	diff -r "$out/plain" "$out/recorded" | head -n 5 >"$out/differ"
	if [ -s "$out/differ" ]; then
		echo "$name: its output is not the same with perfrec:" >&2
		cat "$out/differ" >&2
		return 1
	fi
	compare_counts "$name" "$build" "$out/data" "$out/counts" \
		"$out"/count.*[0-9]
	awk '{ calls += $1 } END { print calls }' "$out/counts" >>"$work/calls"
	rm -rf "$out"
}

if [ "$quick" = yes ]; then
	lua=8 threads=5 shell=3 least=2000000
else
	lua=170 threads=70 shell=40 least=50000000
fi

# at_least PROGRAM: the calls since the last time are enough.
at_least() {
	calls=$(awk '{ calls += $1 } END { printf "%d", calls }' "$work/calls")
	rm "$work/calls"
	[ "$calls" -ge "$least" ] && return
	echo "$1: only $calls calls, of $least" >&2
	return 1
}

part lua record lua /dev/null "" "$dir/lua" "$here/workload.lua" $lua
part "lua's calls" at_least lua
sh "$here/workload.sql.sh" $shell >"$work/sql"
part sqlite_threads record sqlite_threads /dev/null "" \
	"$dir/sqlite_threads" 4 $threads
part sqlite3 record sqlite3 "$work/sql" "" "$dir/sqlite3"
part "sqlite's calls" at_least sqlite
part lua_compressed record lua_compressed /dev/null --compress "$dir/lua" \
	"$here/workload.lua" 8
parts_end
