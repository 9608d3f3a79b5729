#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# true_time.sh [--only PROGRAM,...] [--rounds N] [--rows ROW,...] - holds the
# times of functions that perfrec reports, with its own cost subtracted, against
# what sampling the same program built plain says (docs/OVERHEAD.md, "The error
# that is left"). true_time.py does it, and says what the columns are.
#
# O is the build directory; REAL_DIR/overhead has, or gets, the programs
# (overhead_build.sh). Nothing fails for a time.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-$top/build}" && pwd)
dir=${REAL_DIR:-$O/real}/overhead
rounds=3 programs='loops lua sqlite zstd templates' rows=''
while [ $# -gt 0 ]; do
	case $1 in
	--rounds) rounds=$2; shift ;;
	--rows)	rows=$2; shift ;;
	--only)	programs=$(echo "$2" | tr , ' '); shift ;;
	*)	echo "usage: $0 [--only PROGRAM,...] [--rounds N]" \
			"[--rows ROW,...]" >&2
		exit 2 ;;
	esac
	shift
done
command -v python3 >/dev/null || {
	echo "true_time: needs python3: left out" >&2
	exit 0
}

work=$(mktemp -d "$O/bench-true-time.XXXXXX")
trap 'cd /; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
for variable in $(env | sed -n 's/^\(PERFREC_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done
export XDG_CACHE_HOME="$work/cache"

mkdir -p "$dir"
for program in $programs; do
	if [ "$program" = loops ]; then
		source=$top/tests/bench/true_time_loops.c
		gcc -O2 -g -o "$dir/loops.plain" "$source"
		"$O/perfrec" cc --hooks=entry gcc -O2 -g \
			-o "$dir/loops.entry" "$source"
		"$O/perfrec" cc --hooks=calls gcc -O2 -g \
			-o "$dir/loops.calls" "$source"
		continue
	fi
	KINDS='plain entry calls' \
		sh "$top/tests/bench/overhead_build.sh" "$O" "$dir" "$program"
done
cd "$work"
cat "$top"/collector/*/*.c "$top"/preload/*/*.c >text
sh "$top/tests/real/workload.sql.sh" 400 >statements

# At once, and as if alone: times are wall time, and others may be at work.
cat >alone <<'END'
echo -20 >/proc/self/autogroup
exec nice -n -20 "$@"
END
if setsid -w sh alone true 2>/dev/null; then
	run="setsid -w sh $work/alone"
elif nice -n -20 true 2>/dev/null; then
	run='nice -n -20'
else
	run=''
fi
for program in $programs; do
	python3 "$top/tests/bench/true_time.py" --perfrec "$O/perfrec" \
		--programs "$dir" --top "$top" --rounds "$rounds" \
		--run "$run" --rows "$rows" "$program" || exit 1
done
