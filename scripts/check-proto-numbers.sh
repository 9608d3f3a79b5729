#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compares every field of proto/perfetto_trace.proto with a table that was
# typed in from a description of the format, not from the .proto. A wrong
# number is a trace nobody can read, and nothing else here would notice: our
# own decoder has the same number.
#
# usage: check-proto-numbers.sh [PROTO [TABLE]]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
proto=${1:-$root/proto/perfetto_trace.proto}
table=${2:-$root/tests/golden/proto-numbers.tsv}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints MESSAGE<TAB>FIELD<TAB>NUMBER<TAB>TYPE; nested messages by their
# dotted names. Enum values are fields of the enum, of type "value".
awk '
{ sub(/\/\/.*/, ""); sub(/ \[packed = true\];/, ";") }
/^[ \t]*(message|enum)[ \t]/ {
	depth++
	path[depth] = (depth > 1 ? path[depth - 1] "." : "") $2
	kind[depth] = $1
	next
}
/}/ { depth--; next }
depth && / = [0-9]+;/ {
	sub(/;.*/, "")
	if (kind[depth] == "enum")
		print path[depth] "\t" $1 "\t" $3 "\tvalue"
	else if ($1 == "repeated" || $1 == "optional")
		print path[depth] "\t" $3 "\t" $5 "\t" $1 " " $2
	else
		print path[depth] "\t" $0 "\t?\tneither optional nor repeated"
}' "$proto" | sort >"$work/proto"

grep -v -e '^#' -e '^$' "$table" | sort >"$work/table"

if ! [ -s "$work/proto" ]; then
	echo "no fields found in $proto" >&2
	exit 1
fi
comm -23 "$work/proto" "$work/table" | sed 's/^/only in the .proto: /' \
	>"$work/differences"
comm -13 "$work/proto" "$work/table" | sed 's/^/only in the table:  /' \
	>>"$work/differences"
if [ -s "$work/differences" ]; then
	cat "$work/differences" >&2
	exit 1
fi
