#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds real programs as a user of perfrec would, with `perfrec cc` and
# `perfrec c++` as the compilers of their own build systems, and records them:
#
#     find        of GNU findutils; configure, make
#     zstd        with threads; make
#     yaml        yaml-cpp and its parser: C++, a shared library, exceptions
#                 through it; CMake
#     memcached   a server with threads, under load; configure, make
#     lpeg        a library that Lua opens; make
#
# The calls of every function are the same in a counting library, the summary,
# the trace and the profile of the same run, nothing is lost, and the output is
# what the program prints when it is not recorded.
#
# usage: rebuild.sh BUILD DIR [NAME[:clang]...]
#
# BUILD is the make's $(O); DIR caches sources and programs. Exits with 77 when
# sources cannot be fetched.
set -eu

build=$(cd "$1" && pwd)
mkdir -p "$2"
dir=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
shift 2
[ $# -gt 0 ] || set -- find zstd yaml memcached lpeg find:clang yaml:clang
# shellcheck source=tests/real/compare.sh
. "$here/compare.sh"
# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"

# The machine may be too busy for the usual 100 ms.
export PERFREC_DEADLINE_MS=20000
PATH=$build:$PATH
work=$(mktemp -d "$dir/run.XXXXXX")
trap 'rm -rf "$work"' EXIT
jobs=-j$(nproc)

# --- building -------------------------------------------------------------------
# Each function builds in the current folder, a copy of the package's source.

# Patches have made newer what is generated from it already.
generated() {
	touch aclocal.m4
	touch configure config.h.in
	find . -name Makefile.in -exec touch {} +
}

build_find() {
	generated
	./configure --disable-nls CC="perfrec cc $cc"
	make "$jobs" -C gl
	make "$jobs" -C lib
	make "$jobs" -C find
}

build_zstd() {
	make "$jobs" -C programs zstd CC="perfrec cc $cc" \
		HAVE_LZMA=0 HAVE_LZ4=0 HAVE_ZLIB=0
}

build_yaml() {
	need_package cmake cmake
	# CMake asks for a C compiler, too, and uses none.
	CC=$cc CXX=$cxx cmake -S . -B . -DCMAKE_BUILD_TYPE=Release \
		-DYAML_BUILD_SHARED_LIBS=ON -DYAML_CPP_BUILD_TESTS=OFF \
		-DCMAKE_CXX_COMPILER_LAUNCHER="perfrec;c++"
	make "$jobs"
}

build_memcached() {
	[ -e /usr/include/event.h ] || need_package none libevent-dev
	generated
	./configure CC="perfrec cc $cc"
	make "$jobs" memcached
	$cc -O2 -o load "$here/memcached_load.c" -lpthread
}

build_lpeg() {
	lua=$(echo "$dir"/src/lua5.4-*/src)
	# Debian's rules make this header; it sets a search path only.
	echo '#define DEB_HOST_MULTIARCH "any"' >"$lua/lua5.4-deb-multiarch.h"
	# shellcheck disable=SC2046 # a list of files
	perfrec cc "$cc" -O2 -DLUA_USE_LINUX -DLUA_COMPAT_5_3 -o lua \
		$(find "$lua" -name '*.c' ! -name luac.c | sort) \
		-Wl,-E -lm -ldl
	make linux CC="perfrec cc $cc" LUADIR="$lua"
}

# made NAME PACKAGE...: the program is in $tree, built with the flags that
# perfrec cc gives now, from the source of the first package.
made() {
	name=$1
	shift
	fetch "$@"
	tree=$dir/cc/$name-$cc
	perfrec cc --dry-run "$cc" -c x.c >"$work/flags"
	cmp -s "$work/flags" "$tree/perfrec.flags" && return
	rm -rf "$tree"
	mkdir -p "$dir/cc"
	cp -pr "$dir/src/$1"-*/ "$tree"
	if ! (set -e && cd "$tree" && "build_$name") >"$work/log" 2>&1; then
		tail -n 20 "$work/log" >&2
		echo "$name: cannot build it with $cc" >&2
		return 1
	fi
	cp "$work/flags" "$tree/perfrec.flags"
}

# --- recording ------------------------------------------------------------------

# output FOLDER COMMAND...: run it; stdout, stderr and the exit status go to
# files in FOLDER.
output() {
	folder=$1
	shift
	mkdir -p "$folder"
	status=0
	"$@" </dev/null >"$folder/out" 2>"$folder/err" || status=$?
	echo "exit status $status" >"$folder/status"
}

# record COMMAND...: not recorded, then recorded, and all is compared.
record() {
	name="$name with $cc"
	out=$work/run
	output "$out/plain" "$@"
	output "$out/recorded" env COUNT_OUT="$out/count" \
		LD_PRELOAD="$build/tests/progs/libcount_preload.so" \
		perfrec record --quiet --on-full block \
		--max-size 16G -o "$out/data" -- "$@"
	if ! diff -r "$out/plain" "$out/recorded" >"$out/differ"; then
		echo "$name: its output is not the same with perfrec:" >&2
		head -n 5 "$out/differ" >&2
		return 1
	fi
	compare_counts "$name" "$build" "$out/data" "$out/counts" \
		"$out"/count.*[0-9]
	compare_profile "$name" "$out/data" "$out/counts"
	rm -rf "$out"
}

record_find() {
	made find findutils
	record "$tree/find/find" /usr/include /usr/share/perl5 /nonexistent \
		'(' -name '*.h' -o -regex '.*/[A-F][a-z]*\.pm' ')' -size +1k \
		-printf '%p %s %y %m\n' -o -type d -newer /etc/passwd -print
}

record_zstd() {
	made zstd libzstd
	cat "$tree"/lib/*/*.c >"$work/input"
	# shellcheck disable=SC2016 # for the inner shell
	record sh -c '"$0" -q -c -T3 -9 -B512K "$1" | "$0" -q -dc | cksum' \
		"$tree/programs/zstd" "$work/input"
	rm "$work/input"
}

record_yaml() {
	made yaml yaml-cpp
	mkdir -p "$work/yaml"
	for i in 1 2 3 4 5 6 7 8 9; do
		echo "item$i: {name: &a$i 'text $i', list: [1, 2.5, *a$i, ~]}"
		printf 'long%d: |\n  several\n  lines\n' "$i"
	done >"$work/yaml/good"
	# Errors are exceptions, thrown in the library at several depths.
	echo 'a: [1, {b: [2, {c: "open}]}]' >"$work/yaml/open"
	echo 'a: *nobody' >"$work/yaml/alias"
	printf 'a:\n\t- tab\n b: }\n' >"$work/yaml/tab"
	# shellcheck disable=SC2016 # for the inner shell
	record sh -c 'for f in "$1"/*; do "$0" "$f"; done' \
		"$tree/util/parse" "$work/yaml"
}

record_memcached() {
	made memcached memcached
	record sh "$here/serve.sh" "$work/socket" \
		"$tree/load $work/socket 4 20" \
		"$tree/memcached" -u root -t 4 -s "$work/socket"
}

record_lpeg() {
	made lpeg lua-lpeg lua5.4
	record env LUA_CPATH="$tree/?.so" "$tree/lua" \
		"$here/workload.lpeg.lua" 2000
}

need_package go golang-go
need_package llvm-addr2line llvm
for program; do
	cc=gcc
	cxx=g++
	if [ "$program" != "${program%:clang}" ]; then
		cc=clang
		cxx=clang++
		need_package clang clang
	fi
	"record_${program%:clang}"
done
