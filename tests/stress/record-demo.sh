#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# record-demo.sh - records a third of the demo in every way, and sixteen threads that
# free each other's blocks ($ALLOC_PAIRS of them), with a sanitized perfrec and
# collector. The sanitizer must report nothing, the traces must pass the checker, and
# the programs' output must stay the same. O is the build directory.
set -u
O=$(cd "${O:-build}" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# All processes report to report.PID.
for options in ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS; do
	eval "export $options=\"\${$options:-}:log_path=$work/report\""
done
program="$O/tests/progs/demo 200"
$program >expected || exit 1

# record NAME OPTION...
record()
{
	name=$1
	shift
	# shellcheck disable=SC2086 # a program and its arguments
	timeout -k 5 900 "$O/perfrec" record -q -o "$name" "$@" -- \
		$program >"$name.out" 2>"$name.err" || {
		echo "$name: exit status $?"
		cat "$name.err"
		exit 1
	}
	for report in report.*; do
		[ -f "$report" ] || continue
		echo "$name: the sanitizer has something to say:"
		head -n 60 "$report"
		exit 1
	done
	cmp expected "$name.out" || exit 1
	"$O/tests/tools/trace_check" "$name/trace.pftrace" >"$name.check" 2>&1 || {
		cat "$name.check"
		exit 1
	}
	echo "ok     record-demo: $name"
}

record block
record compress --compress --workers 4
record small-block --ring-size 64K --workers 2
record small-drop --on-full drop --ring-size 64K
record depth --depth 3 --exclude 'hash*'
"$O/perfrec" report block >/dev/null || exit 1

program="$O/tests/progs/alloc_torture 16 ${ALLOC_PAIRS:-30000}"
$program >expected || exit 1
record memory --alloc=exact --snapshot-interval 100ms
record memory-sampled --alloc=sampled:16K
record memory-drop --alloc=exact --on-full drop --ring-size 64K
for view in cpu heap span; do
	"$O/perfrec" report --view $view memory >/dev/null || exit 1
done
