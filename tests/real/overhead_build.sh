#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# overhead_build.sh BUILD DIR [PROGRAM...] - builds the programs that
# overhead-real.sh runs, from Debian's sources: lua, sqlite (its speed test), tcc,
# leveldb, memcached and redis, each
#
#	PROGRAM.plain		without hooks
#	PROGRAM.entry, .calls	by perfrec cc --hooks=entry, --hooks=calls
#	PROGRAM.witness		lua, sqlite and tcc only: the entry build with
#				entry_witness.c
#
# in DIR/budget; memcached and redis are folders. BUILD is the make's $(O). Existing
# programs are not built again, unless entry.specs of BUILD is newer. Exits with 77
# when sources cannot be fetched.
set -eu

build=$(cd "$1" && pwd)
mkdir -p "$2"
dir=$(cd "$2" && pwd)
made=$dir/budget
here=$(cd "$(dirname "$0")" && pwd)
shift 2
mkdir -p "$made"
# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"
jobs=-j$(nproc)

# The C and C++ compilers of a kind into $compiler and $cxx, what starts them for
# cmake into $launcher.
compilers_of()
{
	case $1 in
	plain)	compiler=gcc cxx=g++ launcher= ;;
	calls)	compiler="$build/perfrec cc --hooks=calls gcc"
		cxx="$build/perfrec c++ --hooks=calls g++"
		launcher="$build/perfrec;c++;--hooks=calls" ;;
	*)	compiler="$build/perfrec cc --hooks=entry gcc"
		cxx="$build/perfrec c++ --hooks=entry g++"
		launcher="$build/perfrec;c++;--hooks=entry" ;;
	esac
}

# The objects to link into a witness. The counting library has its hook.
witness_of()
{
	[ "$1" = witness ] || return 0
	gcc -O2 -mgeneral-regs-only -c -o "$made/entry_witness.o" \
		"$here/entry_witness.c"
	echo "$made/entry_witness.o -Wl,--unresolved-symbols=ignore-all"
}

# Removes the use of addresses and of the time of day, so that each run makes the
# same calls.
build_lua()
{
	src=$(echo "$dir"/src/lua5.4-*/src)
	# Debian's rules make this header; it sets a search path only.
	echo '#define DEB_HOST_MULTIARCH "any"' >"$src/lua5.4-deb-multiarch.h"
	# shellcheck disable=SC2046,SC2086 # words
	$compiler -O2 -g -DLUA_USE_LINUX -DLUA_COMPAT_5_3 \
		'-Dluai_makeseed(L)=((void)(L),1u)' -DSTRCACHE_N=1 \
		-DSTRCACHE_M=1 -o "$1" \
		$(find "$src" -name '*.c' ! -name luac.c | sort) $linked \
		-Wl,-E -lm -ldl
}

amalgamate()
{
	src=$(echo "$dir"/src/sqlite3-*/)
	[ ! -e "$src/sqlite3.c" ] || return 0
	need_package tclsh tcl
	(cd "$src" && sh ./configure --disable-tcl --disable-readline &&
		make sqlite3.c)
}

build_sqlite()
{
	amalgamate
	# shellcheck disable=SC2086 # words
	$compiler -O2 -g -DSQLITE_THREADSAFE=1 -I "$src" -o "$1" \
		"$src/test/speedtest1.c" "$src/sqlite3.c" $linked \
		-lpthread -ldl -lm
}

build_tcc()
{
	amalgamate
	src=$(echo "$dir"/src/tcc-*/)
	[ -e "$src/config.h" ] || (cd "$src" && sh ./configure)
	# shellcheck disable=SC2086 # words
	$compiler -O2 -g -w -DONE_SOURCE=1 -I "$src" -o "$1" "$src/tcc.c" \
		$linked -lm -ldl -lpthread
}

build_leveldb()
{
	need_package cmake cmake
	rm -rf "$made/leveldb.tree"
	src=$(echo "$dir"/src/leveldb-*/)
	cmake -S "$src" -B "$made/leveldb.tree" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DLEVELDB_BUILD_TESTS=OFF -DLEVELDB_BUILD_BENCHMARKS=OFF \
		-DHAVE_SNAPPY=0 -DHAVE_CRC32C=0 -DHAVE_TCMALLOC=0 \
		-DCMAKE_CXX_COMPILER_LAUNCHER="$launcher"
	make "$jobs" -C "$made/leveldb.tree" leveldb
	# shellcheck disable=SC2086 # words
	$cxx -O2 -g -I "$src/include" -o "$1" "$here/leveldb_load.cc" \
		"$made/leveldb.tree/libleveldb.a" -lpthread
	rm -rf "$made/leveldb.tree"
}

build_memcached()
{
	need_package /usr/include/event.h libevent-dev
	cp -pr "$dir"/src/memcached-*/ "$1"
	(cd "$1"
		# Debian's patches are newer than the generated files.
		touch aclocal.m4
		touch configure config.h.in
		find . -name Makefile.in -exec touch {} +
		./configure CC="$compiler" CFLAGS='-O2 -g'
		make "$jobs" memcached
		gcc -O2 -o load "$here/memcached_load.c" -lpthread)
}

build_redis()
{
	cp -pr "$dir"/src/redis-*/ "$1"
	programs=redis-server
	[ "$kind" != plain ] || programs='redis-server redis-cli redis-benchmark'
	# shellcheck disable=SC2086 # words
	make "$jobs" -C "$1/src" $programs MALLOC=libc OPTIMIZATION=-O2 \
		CC="$compiler"
}

[ $# -gt 0 ] || set -- lua sqlite tcc leveldb memcached redis
for program; do
	case $program in
	lua)	fetch lua5.4 ;;
	sqlite)	fetch sqlite3 ;;
	tcc)	fetch tcc sqlite3 ;;
	*)	fetch "$program" ;;
	esac
	kinds='plain entry calls'
	case $program in
	lua | sqlite | tcc) kinds="$kinds witness" ;;
	esac
	for kind in $kinds; do
		out=$made/$program.$kind
		if [ -e "$out" ] && { [ $kind = plain ] ||
			[ ! "$build/entry.specs" -nt "$out" ]; }; then
			continue
		fi
		rm -rf "$out" "$out.new"
		compilers_of $kind
		linked=$(witness_of $kind)
		set +e
		(set -e; "build_$program" "$out.new") >"$made/build.log" 2>&1
		status=$?
		set -e
		if [ $status -ne 0 ]; then
			tail -n 10 "$made/build.log" >&2
			echo "overhead_build.sh: cannot build $program.$kind" >&2
			exit 1
		fi
		mv "$out.new" "$out"
		touch "$out"
	done
done
