#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-abi.sh LIBRARY - the shim asks of libc what preload/imports.allow
# lists, each with a reason, and no more; it offers what preload/perfrec.map
# lists, and no more; and it needs no library but libc.
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

awk '!/^#/ && NF && NF < 2 { print "preload/imports.allow: no reason: " $1 }' \
	preload/imports.allow >"$work/reasonless"
[ -s "$work/reasonless" ] && { cat "$work/reasonless"; bad=1; }
awk '!/^#/ && NF { print $1 }' preload/imports.allow | sort -u >"$work/may"
# What crt files and libgcc (__getauxval: arm64's atomics) bring is not ours.
symbols --undefined-only | grep -vxE \
	'_ITM_.*|__gmon_start__|__cxa_finalize|__getauxval' >"$work/does"
differ imports "$work/may" "$work/does"

sed -n '/global:/,/local:/s/^[[:space:]]*\([A-Za-z_0-9]*\);$/\1/p' \
	preload/perfrec.map | sort -u >"$work/should"
symbols --defined-only >"$work/offers"
differ exports "$work/should" "$work/offers"

needed=$("${OBJDUMP:-objdump}" -p "$library" | awk '$1 == "NEEDED" { print $2 }' | xargs)
case $needed in
libc.so.6 | 'libc.so.6 ld-linux-'*) ;;
*)	echo "$library needs: $needed"; bad=1 ;;
esac
exit $bad
