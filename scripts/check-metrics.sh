#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-metrics.sh [--write] - the table in docs/SERVICE.md is that of
# collector/serve/stats.def. With --write it is written anew. It stands between
# the lines '<!-- metrics -->' and '<!-- metrics: end -->'.
set -u
CC=${CC:-cc}
page=docs/SERVICE.md
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

{
	echo '| metric | member of --json | kind | |'
	echo '|---|---|---|---|'
	# Each row begins with @ and has no other.
	printf '%s\n' \
		'#define DAEMON(member, metric, kind, help) @ "" metric #member #kind help' \
		'#define RECORDING(member, metric, kind, help) @ "recording" metric #member #kind help' \
		'#include "collector/serve/stats.def"' |
		$CC -E -P -iquote . -xc - | tr '\n@' ' \n' | awk -F'"' '
		NF > 9 {
			printf "| `perfrec_%s%s` | `%s%s` | %s | %s |\n",
				$2 ? $2 "_" : "", $4, $2 ? "recordings[]." : "",
				$6, $8 ~ /COUNTER/ ? "counter" : "gauge", $10
		}'
} >"$work/table"
awk -v table="$work/table" '
	/^<!-- metrics -->/ {
		print
		print ""
		while ((getline line <table) > 0)
			print line
		print ""
		skip = 1
	}
	/^<!-- metrics: end -->/ { skip = 0 }
	!skip
' "$page" >"$work/page"
[ "$(wc -l <"$work/table")" -gt 30 ] || {
	echo "check-metrics.sh: collector/serve/stats.def is not understood"
	exit 1
}
if [ "${1:-}" = --write ]; then
	cat "$work/page" >"$page"
elif ! cmp -s "$page" "$work/page"; then
	echo "$page: the table is not that of collector/serve/stats.def (run" \
		"sh scripts/check-metrics.sh --write)"
	diff "$page" "$work/page" | head -n 20
	exit 1
fi
