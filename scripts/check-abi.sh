#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-abi.sh LIBRARY - the shim asks nobody for a symbol, not even itself: a
# program may define any, and would be called. It offers what
# preload/perfrec.map lists, and no more; and it needs no library but libc,
# which is named so that its constructors run first.
set -u
library=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0

# differ WHAT SAID IS: two sorted lists are to be the same.
differ()
{
	extra=$(comm -13 "$2" "$3" | xargs)
	gone=$(comm -23 "$2" "$3" | xargs)
	[ -z "$extra" ] || { echo "$library $1 and should not: $extra"; bad=1; }
	[ -z "$gone" ] || { echo "$library no longer $1: $gone"; bad=1; }
}

symbols()
{
	"${NM:-nm}" -D "$@" "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' |
		sort -u
}

symbols --undefined-only >"$work/imports"
[ -s "$work/imports" ] && {
	echo "$library imports and should not: $(xargs <"$work/imports")"
	bad=1
}
# A relocation by a symbol is resolved by the program's, if it has one.
"${READELF:-readelf}" -rW "$library" |
	awk '$1 ~ /^[0-9a-f]+$/ && $5 ~ /^[A-Za-z_]/ { print $5 }' |
	sort -u >"$work/relocations"
[ -s "$work/relocations" ] && {
	echo "$library calls by name: $(xargs <"$work/relocations")"
	bad=1
}

sed -n '/global:/,/local:/s/^[[:space:]]*\([A-Za-z_0-9]*\);$/\1/p' \
	preload/perfrec.map | sort -u >"$work/should"
symbols --defined-only >"$work/offers"
differ exports "$work/should" "$work/offers"

needed=$("${OBJDUMP:-objdump}" -p "$library" | awk '$1 == "NEEDED" { print $2 }' | xargs)
case $needed in
libc.so.6) ;;
*)	echo "$library needs: $needed"; bad=1 ;;
esac
exit $bad
