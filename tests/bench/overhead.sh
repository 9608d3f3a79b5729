#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# overhead.sh [--quick] [--rounds N] [--only PROGRAM,...] [--json FILE]
# [--markdown FILE] - the cost of recording whole programs, as a multiple of the
# CPU time of the same program built plain (docs/OVERHEAD.md, "Whole programs
# within a budget").
# All run alternately, a few rounds; the minimum of each counts. The CPU time is
# that of the program, without the collector. FILE gets the table's rows for
# Markdown.
#
# A program without hooks runs for about a second, so that the start of a recording
# hardly counts. Where all calls are recorded it does less, and is compared with a
# plain run of the same work.
#
# O is the build directory; REAL_DIR/overhead has, or gets, the programs
# (overhead_build.sh). The table leaves out missing programs.
#
# Fails if counts are wrong: counted functions must have the number of calls that
# the same program has when it is recorded whole.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-$top/build}" && pwd)
dir=${REAL_DIR:-$O/real}/overhead
rounds=3 programs='lua sqlite zstd templates' json='' markdown=''
while [ $# -gt 0 ]; do
	case $1 in
	--quick) rounds=1 ;;
	--rounds) rounds=$2; shift ;;
	--only)	programs=$(echo "$2" | tr , ' '); shift ;;
	--json)	json=$(realpath -m "$2"); shift ;;
	--markdown) markdown=$(realpath -m "$2"); shift ;;
	*)	echo "usage: $0 [--quick] [--rounds N] [--only PROGRAM,...]" \
			"[--json FILE] [--markdown FILE]" >&2
		exit 2 ;;
	esac
	shift
done

# shellcheck disable=SC2086 # a list
sh "$top/tests/bench/overhead_build.sh" "$O" "$dir" $programs || {
	echo "overhead: the programs cannot be built: left out" >&2
	exit 0
}
work=$(mktemp -d "$O/bench-overhead.XXXXXX")
trap 'cd /; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$work"
for variable in $(env | sed -n 's/^\(PERFREC_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done
export XDG_CACHE_HOME="$work/cache" BENCH_OUT="$work/out"
meter=$O/tests/bench/libmeter.so
: >samples
wrong=0

note()
{
	echo "overhead: $*" >&2
}

# The files to pack, and the statements of SQLite: the same on each machine.
inputs()
{
	cat "$top"/collector/*/*.c "$top"/preload/*/*.c >text
	sh "$top/tests/real/workload.sql.sh" 500 >statements
	sh "$top/tests/real/workload.sql.sh" 50 >statements-short
}

# The command of program $1, built as $2, into $command, and its input into
# $input. $3: a row that records everything, or is held against one.
command_of()
{
	binary=$dir/$1.$2 input=/dev/null
	case $3 in
	*-all|*-on|*-t|*-short) short=-short ;;
	*)	short='' ;;
	esac
	case $1 in
	lua)	command="$binary $top/tests/real/workload.lua"
		command="$command $([ "$short" ] && echo 100 || echo 600)" ;;
	sqlite)	command="$binary -init /dev/null :memory:"
		input=statements$short ;;
	zstd)	command="$binary text $([ "$short" ] && echo 5 || echo 28)" ;;
	templates)
		command="$binary $([ "$short" ] && echo 200 || echo 1200)" ;;
	esac
	[ -x "$binary" ]
}

# take PROGRAM ROW COMMAND...: run it; the CPU time of the program is a sample.
take()
{
	program=$1 row=$2
	shift 2
	rm -f out
	# SQLite's shell ends with 1, since some statements fail.
	BENCH_METER=$program LD_PRELOAD=$meter${LD_PRELOAD:+:$LD_PRELOAD} \
		"$@" <"$input" >printed 2>log || [ "$program" = sqlite ] || {
		note "$program, $row: exit status $?"
		tail -n 3 log >&2
		return 0
	}
	cpu=$(awk '{ sum += $2 } END { printf "%.0f", sum }' out 2>/dev/null)
	if [ "${cpu:-0}" -gt 0 ]; then
		echo "$program $row $cpu" >>samples
	else
		note "$program, $row: took no time"
		tail -n 3 log >&2
	fi
}

# plain PROGRAM ROW KIND [VARIABLE=VALUE...]
plain()
{
	program=$1 row=$2
	command_of "$1" "$3" "$2" || return 0
	shift 3
	# shellcheck disable=SC2086 # a command and its arguments
	take "$program" "$row" env "$@" $command
}

# perfrec PROGRAM ROW KIND OPTION...
perfrec()
{
	program=$1 row=$2
	command_of "$1" "$3" "$2" || return 0
	shift 3
	rm -rf data
	# shellcheck disable=SC2086 # a command and its arguments
	take "$program" "$row" "$O/perfrec" record --quiet --max-size 64G \
		--alloc=off --cpu=off -o data "$@" -- $command
	cp data/summary.json "$program.$row.json" 2>/dev/null || :
}

# uftrace PROGRAM ROW KIND OPTION...
uftrace()
{
	command -v uftrace >/dev/null || return 0
	program=$1 row=$2
	command_of "$1" "$3" "$2" || return 0
	shift 3
	rm -rf udata
	# shellcheck disable=SC2086 # a command and its arguments
	take "$program" "$row" env uftrace record --no-libcall --no-event \
		--no-pager --max-stack=65535 -d udata "$@" $command
	rm -rf udata
}

one_round()
{
	for program in $programs; do
		plain "$program" plain plain
		plain "$program" plain-short plain
		for hooks in entry calls; do
			plain "$program" $hooks-alone $hooks
			perfrec "$program" $hooks-off $hooks --exclude '*'
			perfrec "$program" $hooks-counted $hooks --count '*'
			perfrec "$program" $hooks-5 $hooks --overhead 5%
			[ "$round" -gt 2 ] ||
				perfrec "$program" $hooks-all $hooks
		done
		plain "$program" clang clang
		plain "$program" clang-short clang
		plain "$program" clang-alone clang-entry
		perfrec "$program" clang-off clang-entry --exclude '*'
		perfrec "$program" clang-5 clang-entry --overhead 5%
		plain "$program" xray-alone xray
		[ "$round" -gt 2 ] ||
			plain "$program" xray-on xray \
				XRAY_OPTIONS="patch_premain=true xray_mode=xray-basic xray_logfile_base=$work/xray. verbosity=0"
		rm -f xray.*
		uftrace "$program" uftrace-off fentry -P nothing.matches
		[ "$round" -gt 2 ] || {
			uftrace "$program" uftrace-patched fentry -P . -Z 128
			uftrace "$program" uftrace-t mcount -t 10us
			uftrace "$program" uftrace-all mcount
		}
	done
}

# --- counts --------------------------------------------------------------------

# Calls of every function, by name, as the report says them.
calls_of()
{
	"$O/perfrec" report --json --limit 0 "$1" |
		jq -r '.functions[] | select(.calls > 0) |
			"\(.name) \(.calls)"' | sort
}

# The program that makes the same calls each time: recorded whole, and counted.
exact()
{
	for hooks in entry calls; do
		command_of templates $hooks exact || continue
		command="$binary 20"
		for way in whole counted; do
			option=''
			[ $way = whole ] || option='--count *'
			rm -rf "data.$way"
			set -f
			# shellcheck disable=SC2086 # an option, a command
			"$O/perfrec" record --quiet --max-size 64G --alloc=off \
				--cpu=off -o "data.$way" $option -- $command \
				>/dev/null 2>>log
			set +f
			calls_of "data.$way" >"$way"
		done
		functions=$(wc -l <whole)
		differ=$(diff whole counted | grep -c '^<' || :)
		if [ "$functions" -gt 0 ] && [ "$differ" = 0 ]; then
			echo "counts, $hooks build: all $functions functions exact"
		else
			echo "counts, $hooks build: $differ of $functions" \
				"functions differ"
			diff whole counted | head -n 6 >&2
			wrong=1
		fi
	done
}

inputs
# All later rounds know the states that the budget learns here.
for program in $programs; do
	for kind in entry calls clang-entry; do
		perfrec "$program" learn $kind --overhead 5%
	done
	# And the cost without learned states.
	perfrec "$program" entry-first entry --overhead 5% --no-cache
done
round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	note "round $round of $rounds"
	one_round
done
cp samples "$O/bench-overhead.samples"
awk -v programs="$programs" -v json="$json" -v markdown="$markdown" \
	-f "$top/tests/bench/overhead.awk" samples
exact
exit $wrong
