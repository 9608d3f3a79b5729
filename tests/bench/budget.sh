#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# budget.sh [--only PROGRAM,...] [--long] [OPTION of budget.py...] - compares
# the budget of --overhead, the measured cost and the cost that perfrec prints.
# budget.py runs the programs and explains the columns. They run for 0.2 to
# 0.8 s, with --long eight times as long.
#
# O is the build directory; REAL_DIR/overhead has, or gets, the programs
# (overhead_build.sh). Nothing fails for a time.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-$top/build}" && pwd)
dir=${REAL_DIR:-$O/real}/overhead
programs='lua sqlite templates' times=1
while [ $# -gt 0 ]; do
	case $1 in
	--only)	programs=$(echo "$2" | tr , ' '); shift ;;
	--long)	times=8 ;;
	*)	break ;;
	esac
	shift
done
options=$*
command -v python3 >/dev/null || {
	echo "budget: needs python3: left out" >&2
	exit 0
}

# shellcheck disable=SC2086 # a list
sh "$top/tests/bench/overhead_build.sh" "$O" "$dir" $programs || {
	echo "budget: the programs cannot be built: left out" >&2
	exit 0
}
work=$(mktemp -d "$O/bench-budget.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
sh "$top/tests/real/workload.sql.sh" $((200 * times)) >"$work/statements"
# run PROGRAM ARGUMENT...
run()
{
	program=$1
	shift
	# shellcheck disable=SC2086 # words
	python3 "$top/tests/bench/budget.py" --perfrec "$O/perfrec" $options \
		"$dir/$program" -- "$@"
}
for program in $programs; do
	case $program in
	lua)	run lua "$top/tests/real/workload.lua" $((400 * times)) ;;
	sqlite)	run sqlite -init /dev/null :memory: ".read $work/statements" ;;
	templates) run templates $((2000 * times)) ;;
	*)	echo "budget: no program '$program'" >&2
		exit 2 ;;
	esac
done
