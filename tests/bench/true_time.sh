#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# true_time.sh [--only PROGRAM,...] [--rounds N] [--rows ROW,...] - compares the
# times of functions that perfrec reports, with its own cost subtracted, with
# samples of the same program built plain (docs/OVERHEAD.md, "The error that is
# left"). true_time.py does it, and explains the columns.
#
# O is the build directory; REAL_DIR/overhead has, or gets, the programs
# (sampled.sh). No time is a failure.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
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
# shellcheck source=tests/bench/sampled.sh
. "$top/tests/bench/sampled.sh"
for program in $programs; do
	python3 "$top/tests/bench/true_time.py" --perfrec "$O/perfrec" \
		--programs "$dir" --top "$top" --rounds "$rounds" \
		--run "$run" --rows "$rows" "$program" || exit 1
done
