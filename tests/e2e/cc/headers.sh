#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gcc leaves out functions of the folders where it looks for system headers, and
# no others: a path of the user's that has the name of such a folder inside is
# not one. --system-headers chooses.
# long: compiles with each compiler and option
. "$TOP/tests/e2e/lib.sh"
need gcc g++

export XDG_CACHE_HOME="$PWD/cache" TMPDIR="$PWD/tmp"
mkdir cache tmp

# Headers of the user's own, in such a place.
system=$(g++ -E -v -x c++ /dev/null 2>&1 |
	sed -n '/^#include </,/^End/s/^ \//\//p' | tail -1)
cxx=$(g++ -E -v -x c++ /dev/null 2>&1 |
	sed -n '/^#include </,/^End/s/^ \//\//p' | head -1)
header()
{
	mkdir -p "$(dirname "$1")"
	cat >"$1" <<-SOURCE
	#pragma once
	#include <vector>
	template <typename T> __attribute__((noinline)) T of_$2(T x)
	{
		std::vector<T> all(3, x);
		return all.back() + (T)(__builtin_strlen(__FILE__) > 0);
	}
	SOURCE
}
# program FILE NAME: includes it, and calls of_NAME().
program()
{
	printf '#include "%s"\nint main() { return of_%s(1) - 2; }\n' "$1" "$2" >"$2.cc"
}
# names PROGRAM: records it, and lists its functions in ./names.
names()
{
	rm -rf data
	run_ok "$PERFREC" record -q -o data -- "$1"
	json data/summary.json '.functions[].name' >names
}
# has NAME COMMAND...: the program in ./NAME then has hooks in of_NAME().
has()
{
	name=$1
	shift
	run_ok "$@" -o "./$name"
	expect_eq "$*: stderr" "$(cat err)" ''
	names "./$name"
	expect_match names "of_$name" '^main$'
}

# On the line: each way to name a folder, and to build.
stage=$PWD/stage$system
header "$stage/own.h" own
program own.h own
cd tmp || exit 1
for folder in "-I$stage" "-I $stage" "-isystem $stage" "-isystem$stage" \
	"-iquote $stage" "-idirafter $stage" "-I../stage$system" \
	"-I$PWD/../stage$system" "-I$stage/"; do
	# shellcheck disable=SC2086 # an option and its value
	has own "$PERFREC" c++ g++ -O1 $folder ../own.cc
	expect_no_match names '^std::'
done
printf '%s\n' "-I$stage -O1" >response
has own "$PERFREC" c++ g++ @response ../own.cc
has own "$PERFREC" c++ g++ -O0 "-I$stage" ../own.cc
expect_no_match names 'std::'
echo 'int other() { return 0; }' >other.cc
has own "$PERFREC" c++ --exclude other.cc g++ "-I$stage" ../own.cc other.cc

# By a variable.
for name in CPATH CPLUS_INCLUDE_PATH; do
	has own env $name="/nonexistent:$stage" "$PERFREC" c++ g++ -O1 ../own.cc
done
cd ..

# The name goes on; it stands twice; it is that of the C++ library.
for place in "$PWD/a$system-of-mine" "$PWD/b$system/c$system" "$PWD/d$cxx"; do
	header "$place/own.h" own
	has own "$PERFREC" c++ g++ -O1 "-I$place" own.cc
done
# A source there, and a header beside it.
header "$stage/beside.h" beside
program beside.h beside
mv beside.cc "$stage"
has beside "$PERFREC" c++ g++ -O1 "$stage/beside.cc"

# The program says and has the same names of files as without perfrec.
cat >"$stage/said.h" <<'SOURCE'
static inline const char *said(void) { return __FILE__; }
SOURCE
printf '%s\n' '#include <stdio.h>' '#include "said.h"' \
	'int main(void) { return puts(said()) < 0; }' >said.c
gcc "-isystem$stage" said.c -o plain || fail 'gcc said.c'
"$PERFREC" cc gcc "-isystem$stage" said.c -o said ||
	fail 'perfrec cc gcc said.c'
expect_eq __FILE__ "$(./said)" "$(./plain)"

# All, or none, or none and a word.
program vector own
sed -i 's/of_own(1) - 2/(int)std::vector<int>(3, 1).size() - 3/' own.cc
run_ok "$PERFREC" c++ --system-headers=yes g++ -O0 own.cc -o own
names ./own
expect_match names 'std::vector<int.*size'
for choice in '' --system-headers=no; do
	# shellcheck disable=SC2086 # an option or none
	run "$PERFREC" c++ $choice g++ -O0 own.cc -o own
	expect_eq "stderr with $choice" "$(cat err)" ''
	names ./own
	expect_no_match names 'std::'
done
below=$(find "$system" -mindepth 1 -maxdepth 1 -type d ! -name 'c++' \
	! -path "*$(gcc -dumpmachine)*" | head -1)
run_ok "$PERFREC" c++ g++ "-I$below" -isystem "$below" -c own.cc -o own.o
expect_match err "no hooks in functions of headers in '$below' and 1 more: .*--system-headers=yes"
for choice in no yes; do
	run "$PERFREC" c++ --system-headers=$choice g++ "-I$below" -c own.cc -o own.o
	expect_eq "stderr with $choice" "$(cat err)" ''
done
run "$PERFREC" c++ --system-headers=no --hooks=entry g++ -c own.cc
expect_error 2 'only gcc with --hooks=calls leaves system headers out'
