#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# annotate.sh - the cost of annotations: recorded, paused, and without perfrec;
# one run of tests/bench/annotate.c each, which includes the floor. O is the build
# directory.
set -eu
O=$(cd "${O:-build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$O/perfrec" record --alloc=off --cpu=off --on-full=block -o "$work/on" -- \
	"$O/tests/bench/annotate" >"$work/recorded" 2>"$work/log"
"$O/perfrec" record --alloc=off --cpu=off --on-full=block -o "$work/paused" -- \
	"$O/tests/bench/annotate" paused >"$work/pause" 2>>"$work/log"
"$O/tests/bench/annotate" >"$work/none"
lost=$("$O/perfrec" report "$work/on" | awk '$1 == "lost" { print; exit }')

awk -v work="$work" -v lost="$lost" '
function row(file,   f) {
	while ((getline <file) > 0) {
		if ($1 ~ /^[a-z]+[a-z_0-9]*$/)
			ns[file, $1] = $2
		if (file == on && $1 ~ /^[a-z]+[a-z_0-9]*$/)
			order[++kinds] = $1
	}
}
BEGIN {
	on = work "/recorded"; pause = work "/pause"; none = work "/none"
	row(on); row(pause); row(none)
	printf "%-18s %9s %9s %9s %9s\n", "annotation, ns each", "recorded",
		"x floor", "paused", "no shim"
	for (i = 1; i <= kinds; i++) {
		k = order[i]
		if (k == "perfrec" || !((none, k) in ns))
			continue
		printf "%-18s %9.1f %9.2f %9.1f %9.2f\n", k, ns[on, k],
			ns[on, k] / ns[on, "floor"], ns[pause, k], ns[none, k]
	}
	print "of those recorded:" lost
	printf "an argument: %.1f ns each of three\n",
		(ns[on, "span_3_arguments"] - ns[on, "span_1_argument"]) / 2
}'
