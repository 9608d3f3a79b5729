#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds real programs of other authors, instrumented: Lua and SQLite, from
# Debian's source packages.
#
# usage: fetch-build.sh DIR [--plain|--quick]
#
# Leaves DIR/lua, DIR/sqlite3 (the shell) and DIR/sqlite_threads; with
# --plain also DIR/lua.plain and so on, without instrumentation. With --quick
# SQLite is compiled with -O1, in half the time. Existing programs are not built
# again, but an SQLite of --quick serves --quick only. Exits with 77 and a reason
# if the sources cannot be fetched or unpacked.
set -eu

dir=$1
how=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
: "${CC:=gcc}"

# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"
# The end-to-end tests use its programs as well.
purpose=check

# build_lua OUTPUT FLAG...
build_lua() {
	out=$1
	shift
	src=$(echo "$dir"/src/lua5.4-*/src)
	# Debian's rules make this header; it sets a search path only.
	echo '#define DEB_HOST_MULTIARCH "any"' >"$src/lua5.4-deb-multiarch.h"
	files=$(find "$src" -name '*.c' ! -name luac.c | sort)
	# shellcheck disable=SC2086 # a list of files
	$CC -O2 -g -DLUA_USE_LINUX -DLUA_COMPAT_5_3 "$@" -o "$out.new" \
		$files -Wl,-E -lm -ldl
	mv "$out.new" "$out"
}

amalgamate() {
	need_package tclsh tcl
	src=$(echo "$dir"/src/sqlite3-*/)
	[ -e "$src/shell.c" ] && [ -e "$src/sqlite3.c" ] && return
	(cd "$src" && sh ./configure --disable-tcl --disable-readline &&
		make sqlite3.c shell.c) >"$dir/src/sqlite.log" 2>&1 || {
		tail -n 5 "$dir/src/sqlite.log" >&2
		exit 1
	}
}

# build_sqlite SUFFIX FLAG...
build_sqlite() {
	suffix=$1
	shift
	src=$(echo "$dir"/src/sqlite3-*/)
	object=$dir/src/sqlite3$suffix.o
	level=-O2
	rm -f "$dir/sqlite3.quick"
	if [ "$how" = --quick ]; then
		level=-O1
		touch "$dir/sqlite3.quick"
	fi
	$CC $level -g -DSQLITE_THREADSAFE=1 "$@" -c -o "$object" "$src/sqlite3.c"
	$CC $level -g "$@" -I "$src" -o "$dir/sqlite_threads$suffix" \
		"$here/sqlite_threads.c" "$object" -lpthread -ldl -lm
	$CC $level -g "$@" -I "$src" -o "$dir/sqlite3.new" "$src/shell.c" \
		"$object" -lpthread -ldl -lm
	mv "$dir/sqlite3.new" "$dir/sqlite3$suffix"
}

fetch lua5.4 sqlite3
[ "$how" = --quick ] || [ ! -e "$dir/sqlite3.quick" ] ||
	rm -f "$dir/sqlite_threads"
[ -x "$dir/lua" ] || build_lua "$dir/lua" -finstrument-functions
if ! [ -x "$dir/sqlite_threads" ] ||
	[ -n "$(find "$here" -name sqlite_threads.c \
		-newer "$dir/sqlite_threads")" ]; then
	amalgamate
	build_sqlite "" -finstrument-functions
fi
if [ "$how" = --plain ]; then
	[ -x "$dir/lua.plain" ] || build_lua "$dir/lua.plain"
	[ -x "$dir/sqlite3.plain" ] || build_sqlite .plain
fi
