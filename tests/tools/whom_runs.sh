#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# whom_runs.sh O [RUNS [KIND...]] - records each kind of wait of progs/waits/whom RUNS
# times alone, and as often beside two spinning processes. Prints right, unknown and
# wrong names in percent of the time of all waits, for each kind. Fails if more than
# 0.5 % are wrong.
set -u
O=$(cd "$1" && pwd)
shift
runs=${1:-5}
[ $# -eq 0 ] || shift
tools=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
spinning=
trap 'kill $spinning 2>/dev/null; rm -rf "$work"' EXIT
[ $# -ne 0 ] || set -- mutex-long mutex-busy mutex-short recursive checking robust \
	inherit timed silent queue posts writers readers barrier joins once futex c11 \
	handler pipes pairs polls connections forked events closes

# measure KIND: adds the lines of one run to $work/KIND.
measure()
{
	rm -rf "$work/data"
	inherits=
	[ "$1" != inherit ] || inherits=--inherits
	"$O/perfrec" record -q -o "$work/data" "$O/tests/progs/waits/whom" "$1" \
		>"$work/truth" || exit 1
	# shellcheck disable=SC2086 # no word, or one
	python3 "$tools/whom_check.py" --floor 0 $inherits \
		"$work/data/trace.pftrace" "$work/truth" >>"$work/$1"
}

# table TITLE KIND...: prints and clears the sums.
table()
{
	title=$1
	shift
	for kind; do
		sed -n 's/^\([a-z]*\): \([0-9.]*\) % right, \([0-9.]*\) unknown, \([0-9.]*\) wrong of \([0-9]*\) ms.*/\1 \2 \3 \4 \5/p' \
			"$work/$kind" | awk -v kind="$kind" -v title="$title" '
		{ ms[$1] += $5; for (i = 2; i < 5; i++) ns[$1, i] += $i * $5 }
		END {
			for (what in ms) {
				printf "%-7s %-12s %-6s", title, kind, what
				for (i = 2; i < 5; i++)
					printf " %7.2f", ns[what, i] / ms[what]
				printf " %9d ms\n", ms[what]
				bad += ns[what, 4] / ms[what] > 0.5
			}
			exit bad > 0
		}' || bad=1
		rm -f "$work/$kind"
	done
}

bad=0
printf '%-7s %-12s %-6s %7s %7s %7s\n' '' kind name right unknown wrong
for beside in alone beside; do
	if [ $beside = beside ]; then
		for _ in 1 2; do
			sh -c 'while :; do :; done' &
			spinning="$spinning $!"
		done
	fi
	for kind; do
		i=0
		while [ $i -lt "$runs" ]; do
			measure "$kind"
			i=$((i + 1))
		done
	done
	table $beside "$@"
done
exit $bad
