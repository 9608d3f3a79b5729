# SPDX-License-Identifier: Apache-2.0
# long: compiles and records many programs
#
# Plugins that are opened with RTLD_DEEPBIND are bound to the C library's empty
# hooks and to its malloc(). Their calls and allocations were missing without a
# word. They are recorded now, and what a plugin defines itself stays its own.
. "$TOP/tests/e2e/lib.sh"
need g++

cat >plugin.c <<'SOURCE'
#include <stdlib.h>
int inner(int x);
__attribute__((noinline)) int pin(int x)
{
	void *volatile block = malloc(100);
	free(block);
	return inner(x) + 1;
}
void *(*const table[])(size_t) = { malloc };
void *keep(void)
{
	return table[0](1000);
}
int plug(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += pin(i);
	return sum;
}
SOURCE
echo 'int inner(int x) { return x - 1; }' >inner.c
cat >host.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	int mode = atoi(argv[2]) | (argc > 3 ? RTLD_DEEPBIND : 0);
	for (int i = 0; i < 2; i++) {
		void *handle = dlopen(argv[1], mode);
		int (*plug)(int) = (int (*)(int))dlsym(handle, "plug");
		void *(*keep)(void) = (void *(*)(void))dlsym(handle, "keep");
		printf("%d %d\n", plug(50), keep() != 0);
		dlclose(handle);
	}
	return 0;
}
SOURCE
gcc -O1 -o host host.c || fail 'gcc host.c'

# figures: spans, allocations, and remaining blocks.
figures()
{
	json "$1/summary.json" '.totals | "\(.spans) \(.allocs) \(.live_blocks)"'
}
for bind in now lazy; do
	flags="-O1 -g -finstrument-functions -fPIC -shared -Wl,-z,$bind"
	# shellcheck disable=SC2086 # a list
	gcc $flags -o libinner.so inner.c &&
		gcc $flags -o plugin.so plugin.c -L. -linner \
			-Wl,-rpath,"$PWD" || fail 'gcc plugin.c'
	for mode in 1 2; do # RTLD_LAZY, RTLD_NOW
		for deep in '' deep; do
			rm -rf "data$deep"
			# shellcheck disable=SC2086 # a word or none
			run_ok "$PERFREC" record -q --alloc=exact -o "data$deep" \
				-- ./host ./plugin.so $mode $deep
			expect_eq 'output' "$(sort -u out)" '1225 1'
		done
		expect_eq "$bind, mode $mode: spans, blocks" \
			"$(figures datadeep)" "$(figures data)"
		"$O/tests/tools/trace_check" datadeep/trace.pftrace ||
			fail "$bind, mode $mode: a rule is broken"
	done
done
[ "$(json data/summary.json .totals.spans)" -eq 204 ] ||
	fail "spans: $(figures data)"

# Its own malloc(), or that of a library it needs, is why a plugin is opened so.
cat >own.c <<'SOURCE'
#include <stddef.h>
static char pool[1 << 16];
static size_t used;
void *malloc(size_t size)
{
	used += 1024;
	return pool + used - 1024;
}
void free(void *block)
{
	if ((char *)block < pool || (char *)block >= pool + sizeof(pool))
		__builtin_trap();
	used -= 1024;
}
SOURCE
gcc -O1 -fno-builtin -fPIC -shared -o libown.so own.c || fail 'gcc own.c'
for bind in now lazy; do
	flags="-O1 -fno-builtin -finstrument-functions -fPIC -shared -Wl,-z,$bind"
	# shellcheck disable=SC2086 # a list
	gcc $flags -o plugin.so plugin.c inner.c -L. -lown \
		-Wl,-rpath,"$PWD" &&
		gcc $flags -o whole.so plugin.c inner.c own.c || fail 'gcc own'
	for plugin in plugin whole; do
		run_ok "$PERFREC" record -q --alloc=exact -o data -- ./host \
			./$plugin.so 1 deep
		expect_eq 'output' "$(sort -u out)" '1225 1'
		[ "$(json data/summary.json .totals.spans)" -ge 204 ] ||
			fail "$plugin: $(figures data)"
		[ "$(json data/summary.json .totals.allocs)" -lt 100 ] ||
			fail "$plugin: $(figures data)"
	done
done

# The first library in C++, with a runtime of its own, and exceptions.
cat >plus.cc <<'SOURCE'
#include <stdexcept>
#include <string>
static int thrown(int n)
{
	if (n % 2)
		throw std::runtime_error(std::to_string(n));
	return n;
}
extern "C" int plug(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		try {
			sum += thrown(i);
		} catch (const std::exception &error) {
			sum += std::stoi(error.what());
		}
	return sum;
}
extern "C" void *keep() { return new int; }
SOURCE
g++ -O1 -g -finstrument-functions -fPIC -shared -o plus.so plus.cc ||
	fail 'g++ plus.cc'
run_ok "$PERFREC" record -q --alloc=exact -o data -- ./host ./plus.so 2 deep
expect_eq 'output in C++' "$(sort -u out)" '1225 1'
expect_eq 'calls in C++' "$(json data/summary.json '[.functions[] |
	select(.name | startswith("thrown")).calls] | add')" 100

# Disabled, and without a collector, all is as it was.
for disabled in 0 1; do
	PERFREC_QUIET=1 PERFREC_DISABLE=$disabled \
		LD_PRELOAD=$O/libperfrec_preload.so run ./host ./plugin.so 1 deep
	expect_eq 'output without a recording' "$(sort -u out)" '1225 1'
done
