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
#     redis       a server and its client; make
#     leveldb     C++ with threads and virtual functions; CMake
#     ninja       C++ that builds itself, and starts children
#     bash        forks, jumps, signals; configure, make
#     fasttree    OpenMP
#     minpack     Fortran
#     mpi         three processes of Open MPI, in C and in Fortran
#
# The calls of every function are the same in a counting library, the summary,
# the trace and the profile of the same run, nothing is lost, and the output is the
# same as without recording. The CPU time is that of wait4(), and where nothing
# jumps, nothing is repaired and no end is an orphan.
#
# With :entry the program is an entry build, whose calls the counting library does
# not see: the other rules hold, there are spans, and the trace keeps every rule.
#
# Prints lines for each program, continues after a wrong one, and ends with
# "N passed, N failed, N skipped".
#
# usage: rebuild.sh BUILD DIR [NAME[:clang][:entry]...]
#
# BUILD is the make's $(O); DIR caches sources and programs. Skips programs that
# cannot be fetched; exits with 1 if one is wrong, and with 77 if all are skipped.
set -eu

build=$(cd "$1" && pwd)
mkdir -p "$2"
dir=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
shift 2
[ $# -gt 0 ] || set -- find zstd yaml memcached lpeg find:clang yaml:clang \
	redis leveldb ninja bash fasttree minpack mpi \
	find:entry zstd:entry yaml:entry yaml:clang:entry memcached:entry \
	lpeg:entry redis:entry leveldb:entry ninja:entry bash:entry \
	fasttree:entry minpack:entry mpi:entry
# shellcheck source=tests/real/compare.sh
. "$here/compare.sh"
# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"
# shellcheck source=tests/real/parts.sh
. "$here/parts.sh"
need_tools "$build"

# The machine may be too busy for the usual 100 ms.
export PERFREC_DEADLINE_MS=20000
PATH=$build:$PATH
work=$(mktemp -d "$dir/run.XXXXXX")
trap 'rm -rf "$work"' EXIT
jobs=-j$(nproc)

# --- building -------------------------------------------------------------------
# Each function builds in the current folder, a copy of the package's source.

# Debian's patches are newer than the generated files.
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
	# CMake also asks for a C compiler, and does not use it.
	CC=$cc CXX=$cxx cmake -S . -B . -DCMAKE_BUILD_TYPE=Release \
		-DYAML_BUILD_SHARED_LIBS=ON -DYAML_CPP_BUILD_TESTS=OFF \
		-DCMAKE_CXX_COMPILER_LAUNCHER="perfrec;c++"
	make "$jobs"
}

build_memcached() {
	need_package /usr/include/event.h libevent-dev
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

build_redis() {
	make "$jobs" -C src redis-server redis-cli MALLOC=libc \
		OPTIMIZATION=-O2 CC="perfrec cc $cc"
}

build_leveldb() {
	need_package cmake cmake
	cmake -S . -B . -DCMAKE_BUILD_TYPE=Release \
		-DLEVELDB_BUILD_TESTS=OFF -DLEVELDB_BUILD_BENCHMARKS=OFF \
		-DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
		-DCMAKE_C_COMPILER_LAUNCHER="perfrec;cc" \
		-DCMAKE_CXX_COMPILER_LAUNCHER="perfrec;c++"
	make "$jobs" leveldb
	libraries=
	for one in snappy crc32c tcmalloc; do
		upper=$(echo $one | tr '[:lower:]' '[:upper:]')
		! grep -q "^HAVE_$upper:INTERNAL=1" CMakeCache.txt ||
			libraries="$libraries -l$one"
	done
	# shellcheck disable=SC2086 # words
	perfrec c++ "$cxx" -O2 -I include -o load "$here/leveldb_load.cc" \
		libleveldb.a $libraries -lpthread
}

build_ninja() {
	need_package python3 python3
	CXX="perfrec c++ $cxx" python3 configure.py --bootstrap
}

build_bash() {
	generated
	./configure --without-bash-malloc --disable-nls CC="perfrec cc $cc"
	# It makes tools of its own first, which are run here.
	make "$jobs" CC_FOR_BUILD="$cc"
}

build_fasttree() {
	perfrec cc "$cc" -O2 -w -fgnu89-inline -fopenmp -DOPENMP -o fasttree fasttree.c -lm
}

build_minpack() {
	need_package gfortran gfortran
	for program in ex/t*.f; do
		name=$(basename "$program" .f)
		# They have the functions that they try in their own names.
		perfrec cc gfortran -std=legacy -O2 -o "$name" "$program" \
			./[a-z]*.f
	done
}

build_mpi() {
	need_package mpifort libopenmpi-dev
	need_package mpirun openmpi-bin
	perfrec cc mpicc -O2 -o ring_c examples/ring_c.c
	perfrec cc mpicc -O2 -o connectivity examples/connectivity_c.c
	perfrec cc mpifort -O2 -o ring_f examples/ring_usempi.f90
}

# made NAME PACKAGE...: the program is in $tree, built with the flags that
# perfrec cc gives now, from the source of the first package.
made() {
	name=$1
	shift
	fetch "$@"
	tree=$dir/cc/$name-$cc$kind
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

# check_entry DATA: what can be known of an entry build without other counts.
check_entry() {
	"$build/tests/tools/trace_check" "$1/trace.pftrace" >"$work/checked" || {
		sed "s/^/$name: /" "$work/checked" >&2
		return 1
	}
	jq -r '.totals | "\(.spans) \(.dropped_spans + .truncated_spans +
		.unslotted_spans + .broken_rings)"' "$1/summary.json" |
		awk -v name="$name" -v least="$least" '{
			printf "%s: %d spans, %d lost\n", name, $1, $2
			exit $1 < least || $2 > 0
		}'
}

# record COMMAND...: not recorded, then recorded, and all is compared.
record() {
	name="$name with $cc$kind"
	out=$work/run
	rm -rf "$out"
	output "$out/plain" "$@"
	counter=$build/tests/progs/libcount_preload.so
	[ -z "$kind" ] || counter=
	output "$out/recorded" env COUNT_OUT="$out/count" LD_PRELOAD="$counter" \
		perfrec record --quiet --on-full block \
		--max-size 16G -o "$out/data" -- "$@"
	if ! diff -r "$out/plain" "$out/recorded" >"$out/differ"; then
		echo "$name: its output is not the same with perfrec:" >&2
		head -n 5 "$out/differ" >&2
		return 1
	fi
	if [ "$kind" ]; then
		check_entry "$out/data"
	else
		compare_counts "$name" "$build" "$out/data" "$out/counts" \
			"$out"/count.*[0-9]
		compare_profile "$name" "$out/data" "$out/counts"
	fi
	compare_cpu "$name" "$build" "$out/data" $short
	compare_ends "$name" "$out/data" $jumps
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

record_redis() {
	made redis redis
	for i in $(seq 500); do
		echo "SET key:$i value$i"
		echo "LPUSH list a$i b$i c$i"
		echo "ZADD set $i member$i"
		echo "HSET hash field$i $i"
		echo "GET key:$i"
		echo "ZRANGE set 0 -1 WITHSCORES"
		echo "EVAL 'local t = 0 for i = 1, 1000 do t = t + i end return t' 0"
	done >"$work/commands"
	echo 'DEBUG SET-ACTIVE-EXPIRE 0' >>"$work/commands"
	printf '%s\n' 'until [ -S "$1" ]; do sleep 0.05; done' \
		'"$2" -s "$1" <"$3"' >"$work/load"
	record sh "$here/serve.sh" "$work/socket" \
		"sh $work/load $work/socket $tree/src/redis-cli $work/commands" \
		"$tree/src/redis-server" --port 0 --save "" --logfile /dev/null \
		--dir "$work" --unixsocket "$work/socket"
}

record_leveldb() {
	made leveldb leveldb
	record "$tree/load" "$work/db" 45000
}

record_ninja() {
	made ninja ninja-build
	mkdir -p "$work/ninja"
	{
		printf 'rule copy\n  command = cat $in >$out\n'
		for i in $(seq 400); do
			echo "build out$i: copy ${last:-build.ninja}"
			last=out$i
		done
	} >"$work/ninja/build.ninja"
	# shellcheck disable=SC2016 # for the inner shell
	record sh -c 'rm -f "$1"/out* "$1"/.n*; "$0" -v -j1 -C "$1"; "$0" -C "$1"' \
		"$tree/ninja" "$work/ninja"
}

record_bash() {
	made bash bash
	cat >"$work/script" <<-'SCRIPT'
		shopt -s extglob
		declare -A squares
		square() { local n=$1; squares[$n]=$((n * n)); }
		for ((i = 0; i < 30000; i++)); do square $i; done
		for i in {1..20}; do ( exit $((i % 3)) ); echo "child $i: $?"; done
		trap 'echo caught' USR1; kill -USR1 $$
		text=$(for i in {1..50}; do echo "line $i"; done | sort -r)
		[[ $text =~ line\ ([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
		for i in a1 b22 c333; do echo "${i//+([0-9])/N}"; done | uniq -c
		( set -e; false; echo never ) || echo "status $?"
		echo $(( 1 / 0 )) || echo 'after a jump'
		unset 'squares[3]'; echo ${#squares[@]} ${squares[44]}
	SCRIPT
	# An error in an expression is a longjmp.
	jumps=yes
	record "$tree/bash" "$work/script"
}

record_fasttree() {
	made fasttree fasttree
	awk 'BEGIN {
		srand(7)
		split("A C G T", base, " ")
		for (i = 1; i <= 400; i++)
			root[i] = base[int(rand() * 4) + 1]
		for (n = 1; n <= 120; n++) {
			printf ">s%d\n", n
			for (i = 1; i <= 400; i++) {
				one = root[i]
				if (rand() < 0.1)
					one = base[int(rand() * 4) + 1]
				printf "%s", one
			}
			print ""
		}
	}' >"$work/alignment"
	# With more threads, it prints other digits each time.
	# shellcheck disable=SC2016 # for the inner shell
	record sh -c 'OMP_NUM_THREADS=3 "$0" -quiet -nt -nosupport "$1" |
		tr -dc "s\n0-9,:()." | tr , "\n" | sed "s/:.*//; s/.*(//" | sort' \
		"$tree/fasttree" "$work/alignment"
}

record_minpack() {
	made minpack minpack
	# shellcheck disable=SC2016 # for the inner shell
	record sh -c 'cd "$0" && for n in 1 2 3 4 5 6 7 8 9 10; do
		for i in lmdif lmder hybrd chkder; do
		for f in ex/file0*; do ./t$i <$f; done; done; done' "$tree"
}

record_mpi() {
	made mpi openmpi
	# shellcheck disable=SC2016 # for the inner shell
	record sh -c 'cd "$0" && for n in 1 2 3; do
		for i in ring_c connectivity ring_f; do
		mpirun --allow-run-as-root --oversubscribe -np 3 ./$i | sort
		done; done' "$tree"
}

# perfrec, as builds call it for entry builds.
mkdir "$work/entry"
cat >"$work/entry/perfrec" <<EOF
#!/bin/sh
case \$1 in
cc | c++)
	command=\$1
	shift
	set -- "\$command" --hooks=entry "\$@"
	;;
esac
exec "$build/perfrec" "\$@"
EOF
chmod +x "$work/entry/perfrec"
usual_path=$PATH

need_package go golang-go
need_package llvm-addr2line llvm
for program; do
	jumps=no short=no least=1000
	case $program in
	find* | zstd* | yaml* | memcached* | lpeg*) short=yes ;;
	esac
	case $program in
	yaml* | lpeg*) jumps=yes ;; # exceptions, errors of Lua
	mpi*) least=36 ;; # 18 processes in C, 9 in Fortran, with little but main()
	esac
	cc=gcc
	cxx=g++
	kind=
	PATH=$usual_path
	unset CMAKE_C_LINKER_LAUNCHER CMAKE_CXX_LINKER_LAUNCHER
	if [ "$program" != "${program%:entry}" ]; then
		kind=-entry
		short=yes
		PATH=$work/entry:$PATH
		export CMAKE_C_LINKER_LAUNCHER='perfrec;cc' \
			CMAKE_CXX_LINKER_LAUNCHER='perfrec;c++'
	fi
	label=$program
	program=${program%:entry}
	if [ "$program" != "${program%:clang}" ]; then
		cc=clang
		cxx=clang++
		need_package clang clang
	fi
	part "$label" "record_${program%:clang}"
done
parts_end
