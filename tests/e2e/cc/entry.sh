#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long: builds with each compiler and option
#
# `perfrec cc --hooks=entry`: whatever the compiler, the linker and their options,
# a program has its table of functions, whole, and the note; it has no text
# relocation and nothing of gprof; it runs alone as the plain one does.
. "$TOP/tests/e2e/lib.sh"
need gcc g++ nm objcopy od readelf

export XDG_CACHE_HOME="$PWD/cache" TMPDIR="$PWD/tmp"
mkdir cache tmp

cat >inner.h <<'EOS'
#define OWN __attribute__((noinline))
struct p_error { };
/* In both sources: the linker keeps one of each. */
template <class T> OWN T p_times(T x)
{
	if (x > 100)
		throw p_error();
	return x * 3;
}
struct p_shape {
	int sum;
	virtual ~p_shape() { }
	virtual int p_area(int x)
	{
		sum += x;
		return p_times(x);
	}
};
int p_other(p_shape *s, int x);
EOS
cat >one.cc <<'EOS'
#include "inner.h"
extern "C" int p_plain(int x), p_unused(int x), p_tail(int x);
extern "C" OWN int p_unused(int x) { return p_plain(x) + 2; }
extern "C" OWN int p_plain(int x)
{
	__asm__ volatile("");
	return x + 1;
}
extern "C" OWN int p_tail(int x)
{
	__asm__ volatile("");
	return p_plain(x + 1);
}
int main()
{
	p_shape s;

	int sum = p_other(&s, 3) + p_tail(5);

	try {
		p_times(200);
	} catch (p_error &) {
		sum += 100;
	}
	try {
		p_times(200.0);
	} catch (p_error &) {
		sum += 1000;
	}
	return sum == 1116 ? 7 : 1;
}
EOS
cat >two.cc <<'EOS'
#include "inner.h"
OWN int p_other(p_shape *s, int x) { return s->p_area(x) + (int)p_times(0.0); }
EOS

# section FILE NAME: its address in decimal; its bytes in ./bytes.
section()
{
	address=$(readelf -SW "$1" | sed -n "s/^ *\[ *[0-9]*\] $2 *[A-Z]* *\([0-9a-f]*\) .*/\1/p")
	[ -n "$address" ] || return 1
	objcopy -O binary --only-section="$2" "$1" bytes 2>/dev/null
	address=$((0x$address))
}

# entries FILE: addresses of functions in both tables, in decimal.
entries()
{
	if section "$1" '\.perfrec\.entries'; then
		objcopy -O binary --only-section=.perfrec.entries "$1" bytes
		od -An -v -t d4 -w4 bytes |
			awk -v at="$address" '{ printf "%d\n", at + 4 * (NR - 1) + $1 }'
	fi
	if section "$1" xray_instr_map; then
		# The function is 8 bytes into an entry; at 16 stands the kind.
		od -An -v -t d8 -w32 bytes |
			awk -v at="$address" '$3 % 256 == 0 {
				printf "%d\n", at + 32 * (NR - 1) + 8 + $2 }'
	fi
}

# names FILE: which of our functions the tables name, in ./got, and which there
# are, in ./expected.
names()
{
	entries "$1" >table
	nm "$1" | grep -E ' [TtWw] (main$|_Z.*[0-9]p_|p_)' | grep -v '\.cold' |
		while read -r at _ name; do
			echo "$((0x$at)) $name"
		done >functions
	# A function may begin with endbr64.
	awk 'FILENAME == "table" { there[$1]; next }
		($1 in there) || (($1 + 4) in there) { print $2 }' \
		table functions | sort >got
	awk '{ print $2 }' functions | sort >expected
	grep -q '^main$' expected || fail "$1: no main"
}

# built WHAT FILE: it is as it must be.
built()
{
	names "$2"
	[ -s table ] || fail "$1: no table"
	cmp -s got expected || {
		diff got expected
		fail "$1: functions of the table and of the program differ"
	}
	readelf -dW "$2" | grep -q TEXTREL && fail "$1: text relocations"
	# The C library's start code refers to __gmon_start__ in every program.
	nm "$2" | grep -E 'U _*(mcount|fentry__|cyg_)|monstartup' && fail "$1: gprof"
	nm "$2" | grep -q 'T __gmon_start__' && fail "$1: gcrt1"
	readelf -nW "$2" 2>/dev/null | grep -q '^ *perfrec ' || fail "$1: no note"
	readelf -lW "$2" | grep -q 'RWE' && fail "$1: text can be written"
	readelf -SW "$2" | grep -q '\.perfrec\.none' && fail "$1: what is for no one"
	return 0
}

runs()
{
	run "./$2"
	expect_eq "$1: exit status" "$status" 7
	[ ! -e gmon.out ] || fail "$1: gmon.out"
}

# try FLAGS...: with $compiler; skipped where the plain program does not link.
tried=0
try()
{
	run "$PERFREC" c++ --hooks=entry "$compiler" -w "$@" one.cc two.cc -o program
	[ "$status" -eq 0 ] ||
		"$compiler" -w "$@" one.cc two.cc -o plain 2>/dev/null ||
		return 0
	expect_status 0
	built "$compiler $*" program
	runs "$compiler $*" program
	tried=$((tried + 1))
}

compilers=
for compiler in g++ g++-11 g++-13 clang++ clang++-19; do
	command -v "$compiler" >/dev/null && compilers="$compilers $compiler"
done
for compiler in $compilers; do
	# If a compiler has several versions, only one is tested in all ways.
	case $compiler in
	g++ | clang++)
		try -O0
		try -O3 -fcf-protection
		try -O1 -fno-plt
		try -O1 -fno-pie -no-pie
		try -O1 -static-pie
		linkers='bfd gold lld mold'
		;;
	*)	linkers=bfd ;;
	esac
	try -O2 -static
	for linker in $linkers; do
		try -O2 -flto "-fuse-ld=$linker"
		# gold drops XRay's table (perfrec-cc(1)).
		case "$compiler $linker" in
		clang*gold) continue ;;
		esac
		try -O2 -Wl,--gc-sections "-fuse-ld=$linker"
		try -O2 -flto -ffunction-sections -Wl,--gc-sections \
			"-fuse-ld=$linker"
	done
done
[ $tried -ge 12 ] || fail "only $tried programs were tried"

# The linker removes unused functions although the table names them.
for compiler in $compilers; do
	run "$PERFREC" c++ --hooks=entry "$compiler" -O2 -ffunction-sections \
		-Wl,--gc-sections one.cc two.cc -o program
	nm program | grep -q p_unused && fail "$compiler: the table keeps p_unused"
done

# --- in steps: objects, archives, -r, shared libraries, both kinds ------------------
for compiler in $compilers; do
	rm -f ./*.o lib*
	run_ok "$PERFREC" c++ --hooks=entry "$compiler" -fPIC -O2 -c one.cc two.cc
	"$PERFREC" c++ --hooks=entry "$compiler" one.o two.o -o program || fail link
	built "$compiler, objects" program
	runs "$compiler, objects" program
	ld -r one.o two.o -o both.o || fail "ld -r"
	"$PERFREC" c++ --hooks=entry "$compiler" both.o -o program || fail link
	built "$compiler, ld -r" program
	runs "$compiler, ld -r" program
	"$PERFREC" c++ --hooks=entry "$compiler" -shared two.o -o libtwo.so ||
		fail link
	"$PERFREC" c++ --hooks=entry "$compiler" one.o -L. -ltwo -Wl,-rpath,"$PWD" \
		-o program || fail link
	nm -D libtwo.so | grep perfrec && fail "$compiler: the stub is visible"
	readelf -dW libtwo.so | grep TEXTREL && fail "$compiler: libtwo.so"
	runs "$compiler, shared library" program
	names program
	cmp got expected || fail "$compiler: with a shared library"
	# Linked by somebody else; gcc's objects have all they need.
	"$compiler" one.o two.o -o program || fail link
	runs "$compiler, linked without perfrec" program
	case $compiler in
	g++*) built "$compiler, linked without perfrec" program ;;
	esac
	# Beside functions that call hooks.
	"$PERFREC" c++ "$compiler" -fPIC -O2 -c two.cc -o calls.o || fail calls
	"$PERFREC" c++ --hooks=entry "$compiler" one.o calls.o -o program || fail link
	runs "$compiler, both kinds" program
	entries program >table
	[ -s table ] || fail "$compiler, both kinds: no table"
done
if command -v clang++ >/dev/null; then
	"$PERFREC" c++ --hooks=entry g++ -O2 -c one.cc
	"$PERFREC" c++ --hooks=entry clang++ -O2 -c two.cc
	"$PERFREC" c++ --hooks=entry clang++ one.o two.o -o program
	built 'g++ and clang++' program
	runs 'g++ and clang++' program
	expect_eq 'notes' "$(readelf -nW program 2>/dev/null |
		grep -c '^ *perfrec ')" 2
fi

# Two steps of link-time optimisation.
rm -f ./*.o
"$PERFREC" c++ --hooks=entry g++ -O2 -flto -c one.cc two.cc || fail LTO
"$PERFREC" c++ --hooks=entry g++ -O2 -flto one.o two.o -o program || fail LTO
built 'g++ -flto, in steps' program
runs 'g++ -flto, in steps' program
run_ok "$PERFREC" c++ --hooks=entry --only one.cc g++ -flto one.cc two.cc -o program
expect_match err '^perfrec: warning: --only and --exclude have no effect on .*-flto'

# --- which functions -------------------------------------------------------------
for compiler in $compilers; do
	run_ok "$PERFREC" c++ --hooks=entry --only two.cc "$compiler" -O1 one.cc two.cc \
		-o program
	runs "$compiler --only" program
	names program
	grep -q p_other got || fail "$compiler --only two.cc: p_other is missing"
	grep -Eq '^(main|p_tail)$' got && fail "$compiler --only two.cc: others, too"
done
cat >some.c <<'EOS'
#include <stdlib.h>
#define OWN __attribute__((noinline))
int p_not(void), p_naked(void), p_empty(void), p_chosen(void);
OWN __attribute__((no_instrument_function)) int p_not(void)
{
	__asm__ volatile("");
	return 1;
}
__attribute__((naked)) int p_naked(void) { __asm__("movl $2, %eax; ret"); }
OWN int p_empty(void) { return 0; }
OWN __attribute__((noreturn)) static void p_leave(int status) { exit(status); }
static int p_three(void) { return 3; }
static OWN void *p_resolve(void) { return (void *)p_three; }
int p_chosen(void) __attribute__((ifunc("p_resolve")));
int main(void)
{
	p_leave(p_not() + p_naked() + p_empty() + p_chosen() + 1);
}
EOS
for compiler in gcc clang clang-19; do
	command -v "$compiler" >/dev/null || continue
	for flags in -O2 '-O1 -static-pie' '-O0 -Wl,-z,now,--no-relax'; do
		# shellcheck disable=SC2086
		run_ok "$PERFREC" cc --hooks=entry "$compiler" $flags some.c -o program
		runs "$compiler $flags some.c" program
		names program
		expect_match got '^main$' '^p_leave$' '^p_empty$' '^p_resolve$'
		[ $compiler = gcc ] && expect_no_match got p_not
	done
done

# --- what does not go with it ------------------------------------------------------
run "$PERFREC" cc --hooks=entry --before-inlining gcc -c some.c
expect_error 2 '--hooks=entry puts hooks in after inlining'
run "$PERFREC" cc --hooks=entry --exclude-function x gcc -c some.c
expect_error 2 '--hooks=entry cannot leave functions out by name'
run_ok "$PERFREC" cc --hooks=entry --after-inlining gcc -c some.c
run "$PERFREC" cc --hooks=mcount gcc -c some.c
expect_error 2 "--hooks 'mcount': choose calls or entry"
echo 'int p_x(void) { return 0; }' >empty.c
for flags in -pg -p -mcmodel=large -masm=intel; do
	run_ok "$PERFREC" cc --hooks=entry gcc $flags -fno-pie -c empty.c -o some.o
	expect_match err "no hooks: --hooks=entry does not go with '$flags'"
	expect_eq "sections with $flags" "$(readelf -SW some.o | grep -c perfrec)" 0
done
run "$PERFREC" cc --hooks=entry gcc -fno-instrument-functions -c some.c -o some.o
expect_eq 'sections' "$(readelf -SW some.o | grep -c perfrec)" 0
for flags in '-E' '-M' '-x assembler-with-cpp -c'; do
	echo 'int x;' >empty.c
	[ "$flags" = '-E' ] || [ "$flags" = '-M' ] || echo '.globl x' >empty.c
	# shellcheck disable=SC2086
	gcc $flags empty.c -o expected.o
	# shellcheck disable=SC2086
	run_ok "$PERFREC" cc --hooks=entry gcc $flags empty.c -o got.o
	cmp expected.o got.o || fail "$flags: other output"
done
run "$PERFREC" cc --hooks=entry --dry-run gcc -c 'not there.c'
expect_match out "^gcc -g -specs=/.*/entry.specs -c 'not there.c'$"

# --- it is known for instrumented ---------------------------------------------------
for compiler in $compilers; do
	run "$PERFREC" c++ --hooks=entry "$compiler" -O1 one.cc two.cc -o program
	rm -rf data
	run "$PERFREC" record -o data -- ./program
	expect_status 7
	expect_eq "$compiler: instrumented" \
		"$(json data/summary.json '.processes[0].instrumented')" true
	expect_no_match out 'rebuild it with'
	expect_eq "$compiler: calls of p_plain, p_times" \
		"$(json data/summary.json '[.functions[] |
			select(.name | test("p_plain|p_times")).calls] | add')" 5
done

# --- it starts where text can never be written by itself -----------------------------
cat >mdwe.c <<'EOS'
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	/* PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN */
	if (argc < 2 || prctl(65, 1, 0, 0, 0) < 0)
		return 77;
	execv(argv[1], argv + 1);
	return 1;
}
EOS
gcc mdwe.c -o mdwe || fail mdwe.c
./mdwe /bin/true
if [ $? = 0 ]; then
	for compiler in $compilers; do
		"$PERFREC" c++ --hooks=entry "$compiler" -O1 one.cc two.cc -o program ||
			fail "$compiler"
		run ./mdwe ./program
		expect_eq "$compiler under MDWE: exit status" "$status" 7
		rm -rf data
		run "$PERFREC" record -q -o data -- ./mdwe ./program
		expect_status 7
		[ "$(json data/summary.json .totals.spans)" -ge 5 ] ||
			fail "$compiler: no spans under MDWE"
	done
fi
