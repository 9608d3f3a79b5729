#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Names of code that symbol tables describe in odd ways: without a type, without
# a size, chosen at the start of the program, in a template with huge arguments,
# in the stubs of mold.
. "$TOP/tests/e2e/lib.sh"
need strip

# stacks PROGRAM: its folded stacks into out.
stacks()
{
	rm -rf data
	run_ok "$PERFREC" record -q --alloc=off --cpu 997 -o data -- "$@"
	if jq -e '.notes | any(test("^no CPU samples"))' data/summary.json \
		>/dev/null
	then
		skip 'perf_event is denied here'
	fi
	run_ok "$PERFREC" export --to folded --value cpu data
}

# No type; frame_dummy of crtbegin.o, which has no size, is before it.
cat >label.c <<'SOURCE'
__asm__(".text\n.globl label\nlabel:\n.cfi_startproc\nmov %rdi, %rax\n"
	"inner: imul $0x5851f42d, %rax, %rax\ndec %rdi\njnz inner\nret\n"
	".cfi_endproc\n");
unsigned long label(unsigned long);
volatile unsigned long sink;
__attribute__((noinline)) void caller(void) { sink += label(3000000); }
int main(void)
{
	for (int i = 0; i < 60; i++)
		caller();
	return 0;
}
SOURCE
case $(uname -m) in
x86_64) ;;
*) skip 'the assembly is of x86-64' ;;
esac
${CC:-gcc} -O2 -o label label.c || fail 'cannot compile label.c'
stacks ./label
expect_match out ';main;caller;label '
expect_no_match out 'frame_dummy' 'inner' '[+]0x'

# No size, and behind it functions without symbols.
cat >sizeless.c <<'SOURCE'
__asm__(".text\n.globl sizeless\n.type sizeless, @function\nsizeless: ret\n");
volatile unsigned long sink;
void sizeless(void);
static __attribute__((noinline)) void burn(unsigned long n)
{
	unsigned long s = n;
	for (unsigned long i = 0; i < n; i++) {
		s = s * 6364136223846793005ul + i;
		__asm__ volatile("" : : "r"(s));
	}
	sink = s;
}
void exported(void)
{
	sizeless();
	for (int i = 0; i < 60; i++)
		burn(3000000);
}
SOURCE
${CC:-gcc} -O2 -fPIC -shared -o libsizeless.so sizeless.c ||
	fail 'cannot compile sizeless.c'
strip libsizeless.so
printf 'void exported(void);\nint main(void) { exported(); return 0; }\n' >user.c
${CC:-gcc} -O2 -o user user.c ./libsizeless.so || fail 'cannot compile user.c'
stacks ./user
expect_match out 'exported;libsizeless[.]so[+]0x'
expect_no_match out 'sizeless '

# Chosen at the start: the hooks get the address of a stub.
cat >chosen.c <<'SOURCE'
static volatile int sink;
static void one(void) { sink++; }
/* With hooks it would call them before mold's stubs work. */
__attribute__((no_instrument_function)) static void *choose(void)
{
	return (void *)one;
}
void chosen(void) __attribute__((ifunc("choose")));
__attribute__((noinline, target_clones("avx2", "default"))) int vec(int *a)
{
	int s = 0;
	for (int i = 0; i < 64; i++)
		s += a[i];
	return s;
}
int main(void)
{
	int a[64] = { 1 };
	for (int i = 0; i < 70; i++)
		sink += vec(a);
	chosen();
	return 0;
}
SOURCE
linkers=
command -v mold >/dev/null && linkers=-fuse-ld=mold
for linker in -g $linkers; do
	"$PERFREC" cc gcc -O2 $linker -o chosen chosen.c ||
		fail "cannot compile chosen.c with $linker"
	rm -rf data
	run_ok "$PERFREC" record -q -o data -- ./chosen
	expect_eq "calls of vec with $linker" "$(json data/summary.json \
		'.functions[] | select(.name == "vec") | .calls')" 70
	rm -rf data
	run_ok "$PERFREC" record -q --exclude vec -o data -- ./chosen
	expect_eq "calls of vec, excluded, with $linker" "$(json \
		data/summary.json '[.functions[] | select(.calls)
		| select(.name | test("vec|0x"))] | length')" 0
done

# 100 KB when written out, and the function behind it.
cat >huge.cc <<'SOURCE'
#include <tuple>
volatile int sink;
template <class T, int N> struct rep {
	using below = typename rep<T, N - 1>::type;
	using type = std::tuple<below, below>;
};
template <class T> struct rep<T, 0> {
	using type = T;
};
template <class T> struct Big {
	static __attribute__((noinline)) void first(int n) { sink += n; }
	static __attribute__((noinline)) void second(int n) { sink -= n; }
};
int main()
{
	for (int i = 0; i < 20; i++) {
		Big<rep<int, 12>::type>::first(i);
		Big<rep<int, 12>::type>::second(i);
	}
}
SOURCE
"$PERFREC" c++ g++ -O2 -o huge huge.cc || fail 'cannot compile huge.cc'
rm -rf data
run_ok "$PERFREC" record -q -o data -- ./huge
expect_eq 'functions of Big' "$(json data/summary.json '[.functions[]
	| select(.name | test("^Big<[.]{3}>::(first|second)[(]int[)] #"))
	| .calls] | tostring')" '[20,20]'

# mold describes no stub in .eh_frame.
if [ -n "$linkers" ]; then
	printf 'int tiny(int a) { return a + 1; }\n' >tiny.c
	${CC:-gcc} -O2 -fPIC -shared -o libtiny.so tiny.c || fail 'no libtiny.so'
	cat >stubs.c <<'SOURCE'
int tiny(int a);
volatile int sink;
static __attribute__((noinline)) void many(void)
{
	int x = sink;
	for (int i = 0; i < 2000000; i++)
		x = tiny(x);
	sink = x;
}
int main(void)
{
	for (int i = 0; i < 50; i++)
		many();
	return 0;
}
SOURCE
	${CC:-gcc} -O2 -fuse-ld=mold -o stubs stubs.c ./libtiny.so ||
		fail 'cannot link stubs.c with mold'
	stacks ./stubs
	expect_match out ';main;many;tiny@plt '
	expect_no_match out '^\[truncated\];tiny'
fi
