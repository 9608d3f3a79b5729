#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# diff.sh [ROUNDS [PROGRAM...]] - the changes that perfrec diff finds in real
# recordings, made in the current folder.
#
# For each of five programs, ROUNDS (10) times: six recordings, three per side,
# must show no change. The sides take turns in the first round and every second one
# after it. In the others all of A come first, so a machine that becomes busy looks
# like a change: the gate has one round, beside lint. Then one
# planted call, one block and 2 % more work must be found under their names. TOP
# and O as for scripts/run-e2e.sh.
set -u
rounds=${1:-10}
[ $# -gt 0 ] && shift
programs=${*:-steady tree words files server}
sources=$TOP/tests/stress/diff
perfrec=$O/perfrec
bad=0

# compile PROGRAM AS [FLAG...]
compile()
{
	program=$1 as=$2
	shift 2
	compiler=gcc source=$sources/$program.c
	[ -f "$source" ] || { compiler=g++ source=$sources/$program.cc; }
	mkdir -p "$as"
	$compiler -O1 -g -finstrument-functions -pthread "$@" \
		-o "$as/$program" "$source" || exit 1
}

record()
{
	rm -rf "$1"
	"$perfrec" record -q --alloc exact -o "$1" "$2" || exit 1
}

# changed ARGUMENT...: "value function" of each change by perfrec diff.
changed()
{
	"$perfrec" diff --json "$@" | jq -r '.functions[] | .short as $name |
		.values | to_entries[] | select(.value.changed) |
		.key + " " + $name' | sort
}

# equal PROGRAM ROUND
equal()
{
	if [ $(($2 % 2)) -eq 1 ]; then
		order='a1 b1 a2 b2 a3 b3'
	else
		order='a1 a2 a3 b1 b2 b3'
	fi
	for run in $order; do
		record $run "plain/$1"
	done
	found=$(changed a1 a2 a3 -- b1 b2 b3)
	[ -z "$found" ] && return
	echo "FALSE: $1, round $2 ($order):" "$found"
	bad=1
}

# planted PROGRAM FLAG WANTED RUNS: perfrec diff must find WANTED ("calls parse").
planted()
{
	a='' b=''
	compile "$1" planted "-D$2"
	for run in $(seq "$4"); do
		record "a$run" "plain/$1"
		record "b$run" "planted/$1"
		a="$a a$run" b="$b b$run"
	done
	# shellcheck disable=SC2086 # words
	if changed $a -- $b | grep -qxF "$3"; then
		echo "found: $1 $2: $3 ($4 a side)"
	else
		echo "MISSED: $1 $2: $3 ($4 a side)"
		bad=1
	fi
}

compared=0
for program in $programs; do
	compile "$program" plain
	for round in $(seq "$rounds"); do
		equal "$program" "$round"
		compared=$((compared + 1))
	done
	case $program in
	steady)
		planted steady CALL 'calls flush' 2
		planted steady WORK=20 'calls parse' 3
		;;
	tree)
		planted tree CALL 'calls draw' 2
		planted tree BLOCK 'alloc_objects insert' 2
		planted tree WORK 'calls insert' 3
		;;
	words)
		planted words CALL 'calls word()' 2
		planted words BLOCK 'calls planted(std::vector<…>&)' 2
		planted words WORK 'calls word()' 3
		;;
	files)
		planted files CALL 'calls split' 2
		planted files BLOCK 'alloc_objects copy_field' 2
		planted files WORK 'calls split' 3
		;;
	esac
done
echo "$compared comparisons of equal runs, load $(cut -d ' ' -f 1 /proc/loadavg)"
[ $bad -eq 0 ] && echo 'no false change'
exit $bad
