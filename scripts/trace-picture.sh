#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# trace-picture.sh TRACE START_US LENGTH_US - an SVG of a part of a trace, on
# stdout: a row of nested slices for each thread, as a trace viewer draws them.
# It made docs/demo.svg, the picture in the README.
set -eu

[ $# -eq 3 ] || { echo "usage: $0 TRACE START_US LENGTH_US" >&2; exit 2; }
O=${O:-build}

"$O/tests/tools/trace_check" --dump "$1" | awk -v start="$2" -v len="$3" '
function escape(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); return s }
function hue(name,   i, h) {
	for (i = 1; i <= length(name); i++)
		h = (h * 31 + index(letters, substr(name, i, 1))) % 360
	return h
}
function slice(tid, depth, name, from, to,   x, w, y) {
	x = (from - start) * width / len
	w = (to - from) * width / len
	if (x + w < 0 || x > width || depth >= deepest)
		return
	if (x < 0) { w += x; x = 0 }
	if (x + w > width) w = width - x
	if (w < 0.4)
		return
	y = top[tid] + depth * row
	body = body sprintf("<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" " \
	       "fill=\"hsl(%d,60%%,72%%)\"/>\n", left + x, y, w - 0.3, row - 1,
	       hue(name))
	if (w > length(name) * 6.2 + 4)
		body = body sprintf("<text x=\"%.1f\" y=\"%d\">%s</text>\n",
		       left + x + 3, y + row - 5, escape(name))
}
BEGIN {
	letters = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	width = 900; left = 70; row = 16; deepest = 5
}
!first { first = $4; start = start * 1000 + first; len *= 1000; at = 10 }
!($3 in top) {
	top[$3] = at
	body = body sprintf("<text x=\"4\" y=\"%d\">thread %d</text>\n",
	       at + 11, ++threads)
	at += deepest * row + 8
}
$1 == "B" { name[$3, $5] = $6; for (i = 7; i <= NF; i++)
		name[$3, $5] = name[$3, $5] " " $i; began[$3, $5] = $4 }
$1 == "E" { slice($3, $5, name[$3, $5], began[$3, $5], $4) }
END {
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 980 %d\" " \
	       "font-family=\"monospace\" font-size=\"10\">\n", at + 16
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	printf "%s", body
	for (i = 0; i <= 5; i++)
		printf "<text x=\"%d\" y=\"%d\" fill=\"#666\">%.1f us</text>\n",
		       left + i * (width - 40) / 5, at + 8, i * len / 5000
	print "</svg>"
}'
