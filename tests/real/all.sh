#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The whole of `make check-real`, one part after the other. A part also runs if an
# earlier one has failed. Prints the time of each part, and at the end the sum of
# all parts: "N passed, N failed, N skipped".
#
# usage: all.sh BUILD DIR
#
# BUILD is the make's $(O); DIR caches sources and programs.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd) || exit 2
mkdir -p "$2"
dir=$(cd "$2" && pwd) || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
bad=0

# run NAME COMMAND...
run()
{
	name=$1
	shift
	begin=$(date +%s)
	{
		"$@" 2>&1
		echo $? >"$work/status"
	} | tee "$work/log"
	read -r status <"$work/status"
	grep -E '^[0-9]+ passed, [0-9]+ failed' "$work/log" >"$work/sums"
	# A part that ends before it can count has failed.
	case $status in
	0 | 77) ;;
	*)	bad=1
		grep -qv ' 0 failed' "$work/sums" ||
			echo '0 passed, 1 failed' >>"$work/sums" ;;
	esac
	cat "$work/sums" >>"$work/all"
	echo "== $name: exit status $status, $(($(date +%s) - begin)) s"
}

export CPU_STRICT=1 O="$build"
run cpu sh "$top/scripts/run-e2e.sh" -j 1 cpu/engines cpu/counted-once
for one in record-real rebuild unmodified annotate heap-real waits-real \
		suites-real; do
	run $one sh "$here/$one.sh" "$build" "$dir"
done
awk '{ passed += $1; failed += $3; skipped += $5 }
	END { printf "%d passed, %d failed, %d skipped\n", passed, failed,
		skipped }' "$work/all"
exit $bad
