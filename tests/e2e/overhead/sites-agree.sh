#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# long: compiles programs in many ways
#
# Every site that perfrec would change agrees with a witness: programs of many
# shapes, built by gcc and clang in many ways, run with a library that logs which
# instruction called a hook for which function. Each such call must be a site of
# the plan, with that function among its functions, and the plan refuses nothing.

. "$TOP/tests/e2e/lib.sh"
need awk g++

[ "$(uname -m)" = x86_64 ] || skip 'plans are for x86-64'
progs=$TOP/tests/progs/code

# holds MODULE FILE: what the last run wrote agrees with the plan of FILE, and
# something was seen. No function of these programs needs to be refused.
holds()
{
	"$O/tests/tools/code_sites" "$2" >plan || fail "$2: no plan"
	awk -v module="$1" -f "$TOP/tests/tools/sites_agree.awk" plan pairs.* \
		>sums
	status=$?
	tail -n 1 plan
	cat sums
	[ $status -eq 0 ] || fail "the plan of $2 is not what happened"
	expect_match sums 'pairs [1-9][0-9]* good [1-9].* bad 0$'
	expect_no_match plan ' refused [a-z]'
}

# links WHAT COMPILER FLAG...: links ./object, runs the program, and compares.
links()
{
	echo "== $*"
	rm -f program pairs.*
	shift
	"$@" -o program object.o || {
		echo 'does not link here'
		return
	}
	env SITES_OUT="$PWD/pairs" \
		LD_PRELOAD="$O/tests/progs/libsite_preload.so" ./program >out ||
		fail "status $?"
	holds main ./program
}

# compiles COMPILER FLAG...: $source, as object.o.
compiles()
{
	"$@" -w -finstrument-functions -c -o object.o "$source" || {
		echo "$*: does not build here"
		return 1
	}
}

# agrees COMPILER FLAG...: builds $source so, runs it, and compares.
agrees()
{
	compiles "$@" && links "$*" "$@"
}

# every COMPILER: in each way. Ways that differ in linking share their objects.
every()
{
	for level in -O0 -O1 -Os -O3; do
		agrees $1 $level
	done
	agrees $1 -O2 -no-pie -fno-pie
	compiles $1 -O2 -fno-plt && {
		links -fno-plt $1
		links '-fno-plt --no-relax' $1 -Wl,--no-relax
	}
	agrees $1 -O2 -fcf-protection
	agrees $1 -O2
	for linker in gold lld; do
		command -v ld.$linker >/dev/null &&
			links $linker $1 -fuse-ld=$linker
	done
}

source=$progs/corpus.c
every gcc
agrees gcc -O2 -fno-asynchronous-unwind-tables
command -v clang >/dev/null && {
	every clang
	agrees clang -O2 -fno-asynchronous-unwind-tables
}
# Exceptions need those tables in any case.
source=$progs/corpus_cxx.cc
every 'g++ -std=c++17'
command -v clang++ >/dev/null && every 'clang++ -std=c++17'

# In a shared library, functions are known through the GOT.
source=$progs/corpus.c
for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	rm -f pairs.*
	$compiler -O2 -w -fPIC -shared -Dmain=corpus_main -finstrument-functions \
		-o libcorpus.so "$source" || fail 'the library does not build'
	echo 'int corpus_main(void); int main(void) { return corpus_main(); }' >main.c
	$compiler -o uses main.c ./libcorpus.so || fail 'its user does not build'
	env SITES_OUT="$PWD/pairs" \
		LD_PRELOAD="$O/tests/progs/libsite_preload.so" ./uses >out ||
		fail "status $?"
	holds ./libcorpus.so libcorpus.so
done
