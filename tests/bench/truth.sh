#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# truth.sh [--only PROGRAM,...] [--cells CELL,...] [--scale N] [--bound POINTS]
# [--samples-only] - holds the first table of recordings against perf's samples of the same program
# built plain; truth.py says how. Cells are kinds of builds and budgets; --scale
# says how long programs run (2: two to four seconds of CPU time).
#
# Fails if a cell is more than 20 points off and more than twice what perf is off
# against perf. The bound of calls builds that record all calls is 30 points, as
# these inline less. --bound is one for all cells.
#
# O is the build directory; REAL_DIR/overhead has, or gets, the programs
# (sampled.sh).
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
programs='lua sqlite templates bzip2 threads node cc1plus rsync' cells='' scale=2 bound=0
more=''
while [ $# -gt 0 ]; do
	case $1 in
	--only)	programs=$(echo "$2" | tr , ' ') ;;
	--cells) cells=$2 ;;
	--scale) scale=$2 ;;
	--bound) bound=$2 ;;
	--samples-only)
		more=$1
		shift
		continue ;;
	*)	echo "usage: $0 [--only PROGRAM,...] [--cells CELL,...]" \
			"[--scale N] [--bound POINTS] [--samples-only]" >&2
		exit 2 ;;
	esac
	shift 2
done
command -v perf >/dev/null || {
	echo "$0: needs perf: left out" >&2
	exit 0
}
statements=$((scale * 1000))
texts=$((scale * 4))
# shellcheck source=tests/bench/sampled.sh
. "$top/tests/bench/sampled.sh"

failed=
for program in $programs; do
	# shellcheck disable=SC2086 # an option, or nothing
	python3 "$top/tests/bench/truth.py" --perfrec "$O/perfrec" \
		--programs "$dir" --top "$top" --scale "$scale" \
		--bound "$bound" --cells "$cells" $more "$program" ||
		failed="$failed $program"
done
[ -z "$failed" ] || {
	echo "check-truth: too far off:$failed" >&2
	exit 1
}
