#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-abi.sh LIBRARY - the shim asks nobody for a symbol, not even itself: a
# program may define any, and would be called. It offers what
# tests/golden/exports.txt lists, and no more; and it needs no library but libc,
# which is named so that its constructors run first. The dynamic linker of any
# program must be able to load it, so its dynamic section has only known tags.
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

# Type A are the names of versions.
symbols()
{
	"${NM:-nm}" -D "$@" "$library" |
		awk '$(NF - 1) != "A" { sub(/@.*/, "", $NF); print $NF }' | sort -u
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

sort -u tests/golden/exports.txt >"$work/should"
symbols --defined-only >"$work/offers"
differ exports "$work/should" "$work/offers"

needed=$("${OBJDUMP:-objdump}" -p "$library" | awk '$1 == "NEEDED" { print $2 }' | xargs)
case $needed in
libc.so.6) ;;
*)	echo "$library needs: $needed"; bad=1 ;;
esac

# Each other tag asks the dynamic linker for something more. DT_JMPREL without
# DT_PLTGOT, for one, crashes glibc under LD_AUDIT.
printf '%s\n' FINI_ARRAY FINI_ARRAYSZ FLAGS FLAGS_1 GNU_HASH INIT_ARRAY \
	INIT_ARRAYSZ NEEDED NULL RELA RELACOUNT RELAENT RELASZ SONAME STRSZ \
	STRTAB SYMBOLIC SYMENT SYMTAB VERDEF VERDEFNUM VERSYM >"$work/known"
"${READELF:-readelf}" -dW "$library" |
	sed -n 's/^ 0x[0-9a-f]* *(\([A-Z_0-9]*\)).*/\1/p' >"$work/tags"
tags=$(grep -vxFf "$work/known" "$work/tags" | xargs)
[ -s "$work/tags" ] && [ -z "$tags" ] || {
	echo "$library has dynamic tags and should not: $tags"
	bad=1
}
# musl ends a program whose library has a relocation of an IFUNC.
"${READELF:-readelf}" -rW "$library" | grep IRELATIV && {
	echo "$library has relocations of IFUNC symbols"
	bad=1
}
exit $bad
