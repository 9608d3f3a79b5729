#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-rooms.sh [--graph|--table] - the rooms of collector/ and preload/ and
# their ranks and wings (scripts/rooms.txt).
#
# Without an option: prints each error, and exits with 1 if there is one:
#   - a file includes a header, or an object calls a function, of a room that
#     its room may not use. Includes are read from the text, calls by nm from
#     the objects in O (default: build).
#   - modules form a circle. A module is x.c, x.h and x_MACHINE.S, some of them in the
#     room's folder for a machine; a file that includes x_inner.h is a part of module x.
#   - a file includes x_inner.h of another room.
#   - a room has no line in rooms.txt, or no README.md of at most ten lines.
#   - docs/ARCHITECTURE.md has an outdated table of the rooms.
# --graph prints which rooms each room uses, --table the table of the rooms for
# docs/ARCHITECTURE.md.
set -u
O=${O:-build}
NM=${NM:-nm}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
bad=0

# The first paragraph of a room's README.md below its title, as one line.
purpose()
{
	[ -f "$1" ] || return
	awk 'NR > 2 && !NF { exit } NR > 2' "$1" | tr '\n' ' ' | sed 's/ $//'
}

table()
{
	echo '| wing | rank | room | what it is for |'
	echo '|---|---|---|---|'
	grep -v '^#' scripts/rooms.txt | while read -r tree rank room wing; do
		echo "| ${wing:-shim} | $rank | \`$tree/$room\` |" \
			"$(purpose "$tree/$room/README.md") |"
	done
}

# "include FILE HEADER" for each include of a header of a room. perfrec.h lies in
# none: it is the users', and anybody may include it.
includes()
{
	git ls-files 'collector/*/*.[chS]' 'preload/*/*.[chS]' |
		xargs grep -HoE '^#include "(collector|preload)/[a-z_0-9]+/[a-z_0-9]+\.h"' |
		sed 's/^\([^:]*\):#include "\(.*\)"$/include \1 \2/'
}

# "defines|calls OBJECT SYMBOL" for each global symbol of each object. A main
# program is called by nobody.
symbols()
{
	for object in "$O"/collector/*/*.o "$O"/collector/*/*_*/*.o \
		"$O"/preload/*/*.os; do
		file=${object#"$O"/}
		[ ! -e "${file%.*}.c" ] && [ ! -e "${file%.*}.S" ] ||
			echo "$object"
	done | xargs $NM -A -P -g | awk -v top="$O/" '
		{ file = substr($1, length(top) + 1); sub(/\.[a-z]*:$/, "", file) }
		$3 == "U" { print "calls", file, $2; next }
		file !~ /_main$/ { print "defines", file, $2 }'
}

case ${1:-} in
--table)
	table
	exit
	;;
esac

{ grep -v '^#' scripts/rooms.txt | sed 's/^/room /'; includes; symbols; } |
	awk -v graph="${1:-}" -f scripts/check-rooms.awk || bad=1
[ "${1:-}" = --graph ] && exit $bad

git ls-files 'collector/*/*' 'preload/*/*' | cut -d/ -f1,2 | sort -u |
	while IFS=/ read -r tree room; do
	grep -q "^$tree [0-9]* $room\( \|$\)" scripts/rooms.txt ||
		echo "$tree/$room: no rank in scripts/rooms.txt"
	[ "$(wc -l 2>/dev/null <"$tree/$room/README.md" || echo 99)" -le 10 ] ||
		echo "$tree/$room/README.md: missing, or more than ten lines"
done >"$work/rooms"
table >"$work/table"
awk '/<!-- rooms -->/ { on = 1; next } /<!-- end of rooms -->/ { on = 0 } on' \
	docs/ARCHITECTURE.md >"$work/shown"
cmp -s "$work/table" "$work/shown" ||
	echo "docs/ARCHITECTURE.md: the table of the rooms is not what" \
		"scripts/check-rooms.sh --table prints" >>"$work/rooms"
cat "$work/rooms"
[ -s "$work/rooms" ] && bad=1
exit $bad
