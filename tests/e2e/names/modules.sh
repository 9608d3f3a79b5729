# SPDX-License-Identifier: Apache-2.0
#
# The modules of functions: one name in two modules, programs at fixed addresses,
# other namespaces of the linker, programs without a linker, strange paths.
. "$TOP/tests/e2e/lib.sh"

# library FILE [FLAG...] <<SOURCE
library()
{
	file=$1
	shift
	gcc -O1 -g -fPIC -shared -finstrument-functions -o "$file" -x c - \
		"$@" || fail "cannot compile $file"
}

# functions: "CALLS NAME MODULE" of the summary, the module without folder.
functions()
{
	json data/summary.json '.functions[] |
		"\(.calls) \(.name) \(.module | sub(".*/"; ""))"' | sort
}

# recorded PROGRAM [ARGUMENT...], with what functions() must say on stdin
recorded()
{
	sort >expected
	run_ok "$PERFREC" record -q -o data "$@"
	[ ! -s err ] || fail "$1: stderr: $(cat err)"
	functions | diff expected - || fail "$1: functions differ"
	"$O/tests/tools/trace_check" --counts data/trace.pftrace |
		awk -F '\t' '$2 !~ /^perfrec: / { print $1, $2 }' | sort >got
	awk '{ n[$2] += $1 } END { for (name in n) print n[name], name }' \
		expected | sort | diff - got || fail "$1: the trace differs"
}

library libone.so <<'SOURCE'
__attribute__((noinline)) static void same(void) { __asm__ volatile(""); }
void one(void) { same(); same(); }
SOURCE
library libtwo.so <<'SOURCE'
__attribute__((noinline)) static void same(void) { __asm__ volatile(""); }
void two(void) { same(); same(); same(); }
SOURCE
build both -L. -lone -ltwo "-Wl,-rpath,$PWD" <<'SOURCE'
void one(void);
void two(void);
static __attribute__((noinline)) void same(void) { __asm__ volatile(""); }
int main(void)
{
	one();
	two();
	same();
	return 0;
}
SOURCE
recorded ./both <<'EXPECTED'
1 main both
1 one libone.so
1 same both
1 two libtwo.so
2 same libone.so
3 same libtwo.so
EXPECTED

# Hooks in a program at a fixed address may name a library's function by the entry
# for it in the program.
build fixed -no-pie -fno-pie -L. -lone -ltwo "-Wl,-rpath,$PWD" <<'SOURCE'
void one(void);
void two(void);
void (*volatile table[])(void) = { one, two };
int main(void)
{
	for (int i = 0; i < 10; i++)
		table[i % 2]();
	return 0;
}
SOURCE
run_ok "$PERFREC" record -q -o data ./fixed
functions | cut -d' ' -f1,2 >got
expect_eq 'functions of a program at a fixed address' "$(sort got |
	tr '\n' ' ')" '1 main 10 same 15 same 5 one 5 two '

# In a namespace of its own a library has hooks of its own: not recorded.
build apart <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
int main(void)
{
	void *library = dlmopen(LM_ID_NEWLM, "./libone.so", RTLD_NOW);
	void (*one)(void) = library ? (void (*)(void))dlsym(library, "one") : 0;

	if (!one) {
		puts(dlerror());
		return 1;
	}
	one();
	leaf();
	dlclose(library);
	leaf();
	return 0;
}
SOURCE
recorded ./apart <<'EXPECTED'
1 main apart
2 leaf apart
EXPECTED

# Nothing can be loaded into these: it is said before they run.
build_calls
calls=$TOP/tests/progs/cli/calls.c
for flag in -static -static-pie; do
	gcc -O1 -finstrument-functions $flag -fPIE -o static "$calls" \
		2>/dev/null || continue
	run "$PERFREC" record -q -o data ./static 10
	expect_eq "lines about $flag" "$(grep -c 'linked statically' err)" 1
	expect_eq "output of $flag" "$(cat out)" 45
done

# A program that loads the library but cannot be recorded.
if command -v musl-gcc >/dev/null; then
	gcc -c -O1 -finstrument-functions "$calls" -o calls.o &&
		printf '%s\n' 'void __cyg_profile_func_enter(void) {}' \
			'void __cyg_profile_func_exit(void) {}' >empty.c &&
		musl-gcc -w -o musl calls.o empty.c || fail 'cannot link with musl'
	run "$PERFREC" record -q -o data ./musl 10
	expect_eq 'lines about musl' \
		"$(grep -c 'another C library than glibc' err)" 1
	expect_eq 'output with musl' "$(cat out)" 45
fi

# Paths that no message and no file name would like.
newline='a
b'
for name in "$newline" "$(printf 'n\377\376')" 'x\012y' \
	"$(printf '%0200d' 0)"; do
	mkdir -p "$name/$name"
	cp calls "$name/$name/$name"
	run_ok "$PERFREC" record -q -o data "./$name/$name/$name" 10
	"$O/tests/tools/trace_check" --counts data/trace.pftrace >counts ||
		fail "$name: a rule is broken"
	expect_match counts '^10	leaf$' '^1	main$'
	jq . data/summary.json >/dev/null || fail "$name: no JSON"
done
