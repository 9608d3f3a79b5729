#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: compiles with many command lines
#
# `perfrec cc` and `perfrec c++` add hooks to some files and leave others alone,
# for gcc and clang, on every kind of command line of a build.
. "$TOP/tests/e2e/lib.sh"
need gcc g++ nm readelf

# Nobody else's folders are in this one.
export XDG_CACHE_HOME="$PWD/cache" TMPDIR="$PWD/tmp"
mkdir cache tmp src src/sub

cat >src/a.c <<'EOS'
#include "inner.h"
int a(int x);
int a(int x) { return inner(x) + 1; }
EOS
cat >src/inner.h <<'EOS'
static __attribute__((noinline)) int inner(int x)
{
	__asm__ volatile("");
	return x;
}
EOS
cat >src/sub/b.c <<'EOS'
int b(int x), b_excluded(int x);
__attribute__((noinline)) int b_excluded(int x)
{
	__asm__ volatile("");
	return x * 2;
}
int b(int x) { return b_excluded(x); }
EOS
cat >src/main.c <<'EOS'
#include <stdlib.h>
int a(int x), b(int x);
int main(void)
{
	return a(atoi("1")) + b(2) != 6;
}
EOS
cat >src/m.cc <<'EOS'
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
namespace own
{
struct thing {
	std::map<std::string, std::vector<int>> map;
	__attribute__((noinline)) void add(int i)
	{
		map[std::to_string(i % 3)].push_back(i);
	}
	__attribute__((noinline)) void sort()
	{
		for (auto &p : map)
			std::sort(p.second.begin(), p.second.end());
	}
};
}
int main()
{
	own::thing t;
	for (int i = 0; i < 10; i++)
		t.add(i);
	t.sort();
	std::printf("%zu\n", t.map.size());
}
EOS

# hooked OBJECT: it calls hooks.
hooked()
{
	nm "$1" >symbols || fail "no $1"
	grep -q '__cyg_profile_func_enter' symbols
}

expect_hooks()
{
	for object in "$@"; do
		hooked "$object" || fail "$object has no hooks"
	done
}

expect_no_hooks()
{
	for object in "$@"; do
		if hooked "$object"; then
			fail "$object has hooks"
		fi
	done
}

# ok COMMAND...: it succeeds and prints no error.
ok()
{
	run_ok "$@"
	[ ! -s err ] || fail "$*: $(cat err)"
}

# recorded PROGRAM: names of the functions of a recording, in ./names.
recorded()
{
	rm -rf data
	run_ok "$PERFREC" record -q -o data -- "$1"
	json data/summary.json '.functions[].name' | sort >names
}

# --- wrong usage --------------------------------------------------------------
for cc in cc c++; do
	run "$PERFREC" $cc
	expect_error 2 'no compiler: perfrec c'
	run "$PERFREC" $cc --verbose
	expect_error 2 'no compiler'
	run "$PERFREC" $cc --no-such-option gcc -c src/a.c
	expect_error 2 "unknown option '--no-such-option'"
done
run "$PERFREC" c++ -O2 src/a.cc
expect_error 2 "unknown option '-O'; the compiler comes before its options: perfrec c\+\+ g\+\+ -O2 a.cc"
run "$PERFREC" cc -c src/a.c
expect_error 2 "unknown option '-c'; the compiler comes before its options: perfrec cc gcc"
run "$PERFREC" cc --only
expect_error 2 "option '--only' needs a value"
run "$PERFREC" cc --only src/none.c gcc -c src/a.c
expect_error 2 "--only 'src/none.c': No such file .*absolute"
run "$PERFREC" cc --exclude-function '' gcc -c src/a.c
expect_error 2 'exclude-function'
run "$PERFREC" cc no-such-compiler -c src/a.c
expect_error 127 "cannot run 'no-such-compiler': No such file"
run "$PERFREC" cc ./src/a.c
expect_error 126 "cannot run './src/a.c': Permission denied"
run "$PERFREC" cc gcc --no-such-option -c src/a.c
expect_status 1
expect_match err 'unrecognized command-line option'
run "$PERFREC" cc gcc -c src/none.c
expect_status 1
run "$PERFREC" cc --after-inlining gcc -c src/a.c
expect_error 2 'gcc puts its hooks in before inlining'
printf '#!/bin/sh\necho\n' >mute
chmod +x mute
run "$PERFREC" cc ./mute -c src/a.c
expect_error 1 "'./mute' is neither gcc nor clang"
run "$PERFREC" cc false -c src/a.c
expect_error 1 "'false' does not say which compiler it is"

# --- command lines that stay the same -------------------------------------------
same()
{
	"$@" >expected 2>expected.err
	ok "$PERFREC" cc "$@"
	cmp expected out || fail "$*: other output"
}
same gcc --version
same gcc -E src/main.c
same gcc -M src/main.c
same gcc -MM src/a.c
same gcc -print-file-name=libc.so
same gcc -dumpmachine
run "$PERFREC" cc gcc -v
expect_match err '^gcc version'
gcc -S -o plain.s src/a.c
for input in plain.s '-x assembler plain.s'; do
	# shellcheck disable=SC2086 # a list of words
	gcc -c $input -o expected.o
	# shellcheck disable=SC2086
	ok "$PERFREC" cc gcc -c $input -o got.o
	cmp expected.o got.o || fail "$input: another object"
done
ok "$PERFREC" cc gcc -ffreestanding -c src/a.c -o free.o
expect_no_hooks free.o
ok "$PERFREC" cc gcc -fno-instrument-functions -c src/a.c -o off.o
expect_no_hooks off.o

# --- which sources get hooks ----------------------------------------------------
compilers=gcc
command -v clang >/dev/null && compilers='gcc clang'
for compiler in $compilers; do
	rm -f ./*.o program
	ok "$PERFREC" cc "$compiler" -c src/a.c
	expect_hooks a.o
	ok "$PERFREC" cc "$compiler" -S src/a.c -o a.s
	grep -q __cyg_profile_func_enter a.s || fail "no hooks in a.s"
	"$PERFREC" cc "$compiler" -c -x c - -o in.o <src/sub/b.c ||
		fail "compiling what comes from stdin"
	expect_hooks in.o
	printf '%s' "-c 'src/a.c' -o response.o" >response
	ok "$PERFREC" cc "$compiler" @response
	expect_hooks response.o
	readelf -S response.o | grep -q debug_info || fail "no -g"
	ok "$PERFREC" cc "$compiler" -g0 -c src/a.c -o g0.o
	readelf -S g0.o | grep -q debug_info && fail "-g0 does not count"

	# Some of several.
	ok "$PERFREC" cc --only src/sub "$compiler" -c src/a.c src/sub/b.c
	expect_hooks b.o
	expect_no_hooks a.o
	ok "$PERFREC" cc --exclude src/sub/b.c "$compiler" -c src/a.c src/sub/b.c
	expect_hooks a.o
	expect_no_hooks b.o
	ok "$PERFREC" cc --only "$PWD/src" --exclude src/main.c "$compiler" -O1 \
		-Wall -Werror src/a.c -x c src/sub/b.c src/main.c -lm -o program
	ok ./program
	recorded ./program
	expect_eq "functions with $compiler" "$(xargs <names)" \
		'a b b_excluded inner'
	run "$PERFREC" cc --only src/a.c "$compiler" src/a.c src/sub/b.c -o program
	expect_status 1
	expect_match err 'main'
	expect_none "$TMPDIR"/perfrec-cc.*

	# All of them, in steps.
	ok "$PERFREC" cc "$compiler" -O1 -c src/a.c src/sub/b.c src/main.c
	ok "$PERFREC" cc "$compiler" a.o b.o main.o -o program
	recorded ./program
	grep -qx main names || fail "main is not recorded"
done
ok "$PERFREC" cc --exclude-function b_exc gcc -O1 src/a.c src/sub/b.c src/main.c \
	-o program
recorded ./program
expect_eq 'functions without b_excluded' "$(xargs <names)" 'a b inner main'

# --- lines that strip -----------------------------------------------------------
strips()
{
	expected=$1
	shift
	run_ok "$PERFREC" cc "$@"
	expect_eq "$*: lines" "$(wc -l <err)" "$expected"
	[ "$expected" -eq 0 ] || expect_match err \
		"warning: '.*-(s|-strip-all)' strips the names of functions"
}
sources='src/a.c src/sub/b.c src/main.c -o program'
for flag in -s -Wl,-s -Wl,-O1,-s -Wl,--strip-all; do
	for hooks in calls entry; do
		# shellcheck disable=SC2086 # a list of words
		strips 1 --hooks=$hooks gcc $flag $sources
	done
done
# shellcheck disable=SC2086
strips 0 gcc -Wl,-soname,-x $sources
strips 0 gcc -s -c src/a.c
strips 1 gcc -s a.o src/sub/b.c src/main.c -o program
strips 0 gcc -s -fno-instrument-functions -c src/a.c

# --- link-time optimisation -----------------------------------------------------
for command in 'gcc -flto' 'clang -Qunused-arguments -flto -fuse-ld=lld' \
	'clang -Qunused-arguments -flto=thin -fuse-ld=lld'; do
	# shellcheck disable=SC2086 # a list of words
	set -- $command
	echo 'int main(void) { return 0; }' >empty.c
	"$@" -O2 empty.c -o empty 2>/dev/null || continue
	for source in src/a.c src/sub/b.c src/main.c; do
		"$PERFREC" cc "$@" -O2 -c $source || fail "$*"
	done
	"$PERFREC" cc "$@" -O2 a.o b.o main.o -o program || fail "$*"
	recorded ./program
	grep -qx main names || fail "$*: main is not recorded"
	# Or inner.llvm.1234, where it was moved between modules.
	grep -q '^inner' names || fail "$*: inner is not recorded"
done

# --- precompiled headers --------------------------------------------------------
cp src/inner.h pch.h
echo '#include "pch.h"
int main(void) { return inner(0); }' >pch.c
ok "$PERFREC" cc gcc -O1 -x c-header pch.h -o pch.h.gch
run_ok "$PERFREC" cc gcc -O1 -Winvalid-pch -Werror -H pch.c -o program
expect_match err '^! pch.h.gch'
rm pch.h.gch
recorded ./program
expect_eq 'functions with PCH' "$(xargs <names)" 'inner main'
if command -v clang >/dev/null; then
	ok "$PERFREC" cc clang -O1 -x c-header pch.h -o pch.h.pch
	echo 'int main(void) { return inner(0); }' >pch.c
	ok "$PERFREC" cc clang -O1 -include-pch pch.h.pch pch.c -o program
	recorded ./program
	expect_eq 'functions with PCH' "$(xargs <names)" 'inner main'
fi

# --- C++ ------------------------------------------------------------------------
for level in -O0 -O2; do
	ok "$PERFREC" c++ g++ $level -std=c++17 src/m.cc -o program
	recorded ./program
	expect_match names '^own::thing::add' '^own::thing::sort' '^main$'
	expect_eq "others, with $level" "$(grep -v '^own::\|^main$' names)" ''
done
ok "$PERFREC" c++ --exclude-function own::thing::add g++ -O2 src/m.cc -o program
recorded ./program
expect_no_match names add
if command -v clang++ >/dev/null; then
	ok "$PERFREC" c++ clang++ -O2 src/m.cc -o program
	recorded ./program
	expect_match names '^own::thing::add'
	run "$PERFREC" c++ --exclude-function x clang++ -c src/m.cc
	expect_error 2 'clang cannot leave functions out by name'
	# Less is inlined before there are hooks than after.
	ok "$PERFREC" c++ --before-inlining clang++ -O2 src/m.cc -o program
	recorded ./program
	expect_match names '^std::'
fi

# --- asking the compiler --------------------------------------------------------
cat >wrapper <<EOS
#!/bin/sh
echo "\$*" >>$PWD/calls
exec "\$@"
EOS
chmod +x wrapper
calls()
{
	rm -f calls
	"$@" >&2 || fail "$*"
	wc -l <calls
}
command="$PERFREC cc ./wrapper gcc -c src/a.c -o a.o"
expect_eq 'first run' "$(calls $command)" 2
expect_hooks a.o
expect_eq 'second run' "$(calls $command)" 1
expect_hooks a.o
expect_eq 'other target' "$(calls $command -mno-avx)" 2
echo '# changed' >>wrapper
expect_eq 'changed compiler' "$(calls $command)" 2
expect_eq 'without a cache' \
	"$(XDG_CACHE_HOME='' HOME=/nonexistent calls $command)" 2
expect_hooks a.o
for file in cache/perfrec/cc-*; do
	head -c 100 /dev/urandom >"$file"
done
expect_eq 'broken cache' "$(calls $command)" 2
touch -d '2 days ago' cache/perfrec/cc-*
expect_eq 'old cache' "$(calls $command)" 2
expect_eq 'only a look' "$(calls $command --version)" 1
ok "$PERFREC" cc --dry-run gcc -c 'not there.c'
expect_match out "-finstrument-functions .*-c 'not there.c'$"
run "$PERFREC" cc --verbose gcc -c src/a.c
expect_match err '^gcc -g .*-c src/a.c$'

# --- C libraries without hooks ----------------------------------------------------
# With glibc there must be no stubs: they would win over the preload.
ok "$PERFREC" cc gcc -O1 src/a.c src/sub/b.c src/main.c -o program
nm program | grep -q ' U __cyg_profile_func_enter' ||
	fail "a program for glibc has hooks of its own"
recorded ./program
grep -qx main names || fail "main is not recorded"
printf '%s\n' 'void __cyg_profile_func_enter(void *f, void *s) { }' \
	'void __cyg_profile_func_exit(void *f, void *s) { }' >stubs.c
gcc -O1 -c stubs.c -o stubs.o
ok "$PERFREC" cc gcc -O1 src/a.c src/sub/b.c src/main.c stubs.o -o program
recorded ./program
expect_eq 'functions of a program with stubs' "$(cat names)" ''
if command -v musl-gcc >/dev/null; then
	for flags in '' -static; do
		ok "$PERFREC" cc musl-gcc $flags -Wall -Wextra -Werror \
			src/a.c src/sub/b.c src/main.c -o program
		expect_hooks program
		ok ./program
	done
	ok "$PERFREC" cc musl-gcc -fPIC -c src/sub/b.c
	ok "$PERFREC" cc musl-gcc -shared b.o -o libb.so
	nm -D libb.so | grep -q cyg_profile && fail "stubs are visible"
	ok "$PERFREC" cc musl-gcc src/a.c src/main.c ./libb.so -o program
	ok ./program
fi
