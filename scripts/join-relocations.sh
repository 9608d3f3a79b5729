#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# join-relocations.sh LIBRARY - ld.bfd puts the shim's only TLS descriptor into
# the relocations of a procedure linkage table (DT_JMPREL), but the shim has no
# such table, and so no DT_PLTGOT. glibc reads DT_PLTGOT all the same under an
# audit library that watches calls (LD_AUDIT, sotruss), and crashes. lld and
# mold put the descriptor into DT_RELA. This script makes ld.bfd's result equal
# to theirs: DT_RELASZ covers both, and the three entries of DT_JMPREL go.
set -eu
library=$1

fail()
{
	echo "$library: $*" >&2
	exit 1
}

# Where the dynamic section is, how many entries it has, and for each tag that
# matters "INDEX VALUE" (NAME_at and NAME).
dynamic=$("${READELF:-readelf}" -dW "$library" | awk '
	/^Dynamic section at offset/ { print "section=" $5 }
	$2 ~ /^\(/ {
		tag = substr($2, 2, length($2) - 2)
		if (tag ~ /^(RELA|RELASZ|JMPREL|PLTREL|PLTRELSZ|PLTGOT)$/)
			print tag "_at=" entries "\n" tag "=" $3
		entries++
	}
	END { print "entries=" entries }')
JMPREL='' PLTGOT=''
eval "$dynamic"
[ -n "$JMPREL" ] && [ -z "$PLTGOT" ] || exit 0

[ $((RELA + RELASZ)) -eq $((JMPREL)) ] ||
	fail 'its two tables of relocations are not side by side'
first=$PLTRELSZ_at
[ "$PLTREL_at $JMPREL_at" = "$((first + 1)) $((first + 2))" ] ||
	fail 'its entries of DT_JMPREL are not side by side'
[ $((section % 16)) -eq 0 ] || fail 'its dynamic section is not aligned'

# An entry has 16 bytes: a tag and a value, in the byte order of all CPUs that
# perfrec knows. Entries behind the last one are DT_NULL.
size=$((RELASZ + PLTRELSZ))
bytes=$(printf '\\%03o\\%03o\\%03o' $((size & 255)) $((size >> 8 & 255)) \
	$((size >> 16)))
# shellcheck disable=SC2059 # the format is the bytes
printf "$bytes" | dd of="$library" bs=1 conv=notrunc status=none \
	seek=$((section + RELASZ_at * 16 + 8))
dd if="$library" of="$library.tail" bs=16 status=none \
	skip=$((section / 16 + first + 3)) count=$((entries - first - 3))
head -c 48 /dev/zero >>"$library.tail"
dd if="$library.tail" of="$library" bs=16 conv=notrunc status=none \
	seek=$((section / 16 + first))
rm "$library.tail"
