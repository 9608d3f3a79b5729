#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# overhead_build.sh BUILD DIR [PROGRAM...] - builds the programs that
# overhead.sh runs: DIR/PROGRAM.KIND. PROGRAMs are lua, sqlite, zstd,
# bzip2 (from Debian's sources, fetched once) and templates; KINDs:
#
#	plain, clang		without hooks, by gcc and clang
#	calls, entry		perfrec cc --hooks=..., gcc
#	clang-calls, clang-entry	the same, clang
#	xray			clang -fxray-instrument, its default threshold
#	mcount, fentry		for uftrace: calls of mcount; nops for patches
#
# BUILD is the make's $(O). Existing programs are not built again: remove DIR when
# perfrec cc has changed. Programs that cannot be built are skipped, with a line
# that says so.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
dir=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- lua sqlite zstd templates
here=$top/tests/real
# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"
purpose=bench

GCC=${GCC:-gcc} GXX=${GXX:-g++}
newest=''
! command -v clang-19 >/dev/null || newest=-19
CLANG=${CLANG:-clang$newest} CLANGXX=${CLANGXX:-clang++$newest}
kinds='plain calls entry clang clang-calls clang-entry xray mcount fentry'

# The compiler of kind $1 for language $2 (c, c++) into $compiler.
compiler_of()
{
	case $1 in
	clang*|xray) compiler=$CLANG ;;
	*)	compiler=$GCC ;;
	esac
	if [ "$2" = c++ ]; then
		compiler=$([ "$compiler" = "$CLANG" ] && echo "$CLANGXX" ||
			echo "$GXX")
	fi
	case $1 in
	calls|clang-calls)
		compiler="$build/perfrec $([ "$2" = c ] && echo cc || echo c++)
			--hooks=calls $compiler" ;;
	entry|clang-entry)
		compiler="$build/perfrec $([ "$2" = c ] && echo cc || echo c++)
			--hooks=entry $compiler" ;;
	xray)	compiler="$compiler -fxray-instrument" ;;
	mcount)	compiler="$compiler -pg" ;;
	fentry)	compiler="$compiler -pg -mfentry -mnop-mcount -mrecord-mcount
			-fno-pie -no-pie" ;;
	esac
}

make_lua()
{
	src=$(echo "$dir"/src/lua5.4-*/src)
	echo '#define DEB_HOST_MULTIARCH "any"' >"$src/lua5.4-deb-multiarch.h"
	# shellcheck disable=SC2046 # a list of files
	$compiler -O2 -g -DLUA_USE_LINUX -DLUA_COMPAT_5_3 -o "$1" \
		$(find "$src" -name '*.c' ! -name luac.c | sort) \
		-Wl,-E -lm -ldl
}

make_sqlite()
{
	src=$(echo "$dir"/src/sqlite3-*/)
	if ! [ -e "$src/sqlite3.c" ] || ! [ -e "$src/shell.c" ]; then
		need_package tclsh tcl
		(cd "$src" && sh ./configure --disable-tcl --disable-readline &&
			make sqlite3.c shell.c)
	fi
	$compiler -O2 -g -DSQLITE_THREADSAFE=1 -I "$src" -o "$1" \
		"$src/shell.c" "$src/sqlite3.c" -lpthread -ldl -lm
}

make_zstd()
{
	src=$(echo "$dir"/src/libzstd-*/)
	# shellcheck disable=SC2046 # a list of files
	$compiler -O2 -g -DZSTD_MULTITHREAD -DZSTD_DISABLE_ASM -DZSTD_NODICT \
		-I "$src/lib" -I "$src/lib/common" -o "$1" \
		$(find "$src/lib/common" "$src/lib/compress" \
			"$src/lib/decompress" -name '*.c' | sort) \
		"$top/tests/bench/overhead_zstd.c" -lpthread
}

make_bzip2()
{
	src=$(echo "$dir"/src/bzip2-*/)
	$compiler -O2 -g -D_FILE_OFFSET_BITS=64 -o "$1" "$src/bzip2.c" \
		"$src/blocksort.c" "$src/huffman.c" "$src/crctable.c" \
		"$src/randtable.c" "$src/compress.c" "$src/decompress.c" \
		"$src/bzlib.c"
}

make_templates()
{
	# perfrec cc puts no hooks into what lies in /usr/include.
	mkdir -p "$dir/include"
	cp -r /usr/include/nlohmann "$dir/include/"
	$compiler -O2 -g -std=c++17 -I "$dir/include" -o "$1" \
		"$top/tests/bench/templates.cc"
}

# make_one PROGRAM KIND
make_one()
{
	out=$dir/$1.$2 language=c
	[ "$1" != templates ] || language=c++
	[ ! -x "$out" ] || return 0
	compiler_of "$2" "$language"
	if ! (make_"$1" "$out.new") >"$dir/build.log" 2>&1; then
		tail -n 3 "$dir/build.log" >&2
		echo "overhead_build.sh: $1.$2: not built, left out" >&2
		rm -f "$out"
		return 0
	fi
	mv "$out.new" "$out"
}

need_package /usr/include/nlohmann/json.hpp nlohmann-json3-dev
for program; do
	case $program in
	lua)	fetch lua5.4 ;;
	sqlite)	fetch sqlite3 ;;
	zstd)	fetch libzstd ;;
	bzip2)	fetch bzip2 ;;
	esac
	for kind in ${KINDS:-$kinds}; do
		make_one "$program" "$kind"
	done
done
