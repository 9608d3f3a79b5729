#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compares every field of proto/perfetto_trace.proto with a table that was
# typed in from a description of the format, not from the .proto. A wrong
# number is a trace nobody can read, and nothing else here would notice: our
# own decoder has the same number. The fields that are written by hand, and the
# types of events, stand in collector/trace/fields.h: each must be in the .proto,
# with its number and the wire type of its kind of value.
#
# usage: check-proto-numbers.sh [PROTO [TABLE [FIELDS]]]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
proto=${1:-$root/proto/perfetto_trace.proto}
table=${2:-$root/tests/golden/proto-numbers.tsv}
fields=${3:-}
[ $# -gt 0 ] || fields=$root/collector/trace/fields.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Compares $fields with the .proto. TracePacket's track_event is called
# TRACE_PACKET_TRACK_EVENT there; an event's type keeps its name.
compare_fields()
{
	awk -F '\t' '
function upper(name) {
	gsub(/[A-Z]/, "_&", name)
	gsub(/\._/, "_", name)
	sub(/^_/, "", name)
	return toupper(name)
}
$4 == "value" { print $2 "\t" $3; next }
{
	wire = "BYTES"
	if ($5 == "packed")
		wire = "BYTES"
	else if ($4 ~ / (u?int(32|64)|bool|Type|Unit|Profiling\.CpuMode)$/)
		wire = "VARINT"
	else if ($4 ~ / (fixed64|double)$/)
		wire = "FIXED64"
	print upper($1) "_" toupper($2) "\t" $3 "\t" wire
}' "$work/proto-packed" | sort >"$work/by-name"
	sed -n -e 's/^\tX(\([A-Z0-9_]*\), \([0-9]*\), \([A-Z0-9]*\)).*/\1\t\2\t\3/p' \
		-e 's/^\t\(TYPE_[A-Z_]*\) = \([0-9]*\),$/\1\t\2/p' "$fields" |
		sort >"$work/fields"
	if [ "$(wc -l <"$work/fields")" -lt 40 ]; then
		echo "no list of fields found in $fields" >&2
		exit 1
	fi
	comm -23 "$work/fields" "$work/by-name" |
		sed "s|^|not so in the .proto, but in $fields: |" >>"$work/differences"
}

# Prints MESSAGE<TAB>FIELD<TAB>NUMBER<TAB>TYPE, and <TAB>packed where it is so;
# nested messages by their dotted names. Enum values are fields of the enum, of
# type "value".
awk '
{ sub(/\/\/.*/, ""); packed = sub(/ \[packed = true\];/, ";") ? "\tpacked" : "" }
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
		print path[depth] "\t" $3 "\t" $5 "\t" $1 " " $2 packed
	else
		print path[depth] "\t" $0 "\t?\tneither optional nor repeated"
}' "$proto" >"$work/proto-packed"
cut -f 1-4 "$work/proto-packed" | sort >"$work/proto"

grep -v -e '^#' -e '^$' "$table" | sort >"$work/table"

if ! [ -s "$work/proto" ]; then
	echo "no fields found in $proto" >&2
	exit 1
fi
comm -23 "$work/proto" "$work/table" | sed 's/^/only in the .proto: /' \
	>"$work/differences"
comm -13 "$work/proto" "$work/table" | sed 's/^/only in the table:  /' \
	>>"$work/differences"

if [ -n "$fields" ]; then
	compare_fields
fi
if [ -s "$work/differences" ]; then
	cat "$work/differences" >&2
	exit 1
fi
