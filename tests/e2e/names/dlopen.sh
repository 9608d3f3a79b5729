# SPDX-License-Identifier: Apache-2.0
#
# Plugins: found by the RUNPATH of who opens them, with instrumented
# constructors and destructors, in a program that is gone at once; opened by
# several threads and processes; without a file behind them.
. "$TOP/tests/e2e/lib.sh"

# plugin NAME [FLAG...]: NAME_run() and a constructor and a destructor.
plugin()
{
	name=$1
	shift
	sed "s/NAME/$name/g" >"$name.c" <<-'SOURCE'
	static volatile int sum;
	__attribute__((noinline)) static void NAME_leaf(void) { sum++; }
	__attribute__((constructor)) static void NAME_begin(void)
	{
		NAME_leaf();
	}
	__attribute__((destructor)) static void NAME_end(void)
	{
		NAME_leaf();
	}
	void NAME_run(int n)
	{
		while (n--)
			NAME_leaf();
	}
	SOURCE
	gcc -O1 -g -fPIC -shared -finstrument-functions -o "plugins/$name.so" \
		"$name.c" "$@" || fail "cannot compile $name.c"
}

mkdir plugins
plugin alpha
plugin beta
# The loader is a plugin itself, and knows the folder of the other plugins.
gcc -O1 -g -fPIC -shared -finstrument-functions -o plugins/loader.so \
	-Wl,--enable-new-dtags '-Wl,-rpath,$ORIGIN' -x c - <<'SOURCE' ||
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
void loader_run(const char *name, const char *function, int n)
{
	void *plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	void (*run)(int);

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	run = (void (*)(int))dlsym(plugin, function);
	run(n);
	if (n % 2)
		dlclose(plugin);
}
SOURCE
	fail 'cannot compile loader.so'

prog names/plugin_host host

# recorded MODE, with the expected calls on stdin
recorded()
{
	sort >expected
	run_ok "$PERFREC" record -q -o data ./host "$1"
	[ ! -s err ] || fail "$1: stderr: $(cat err)"
	"$O/tests/tools/trace_check" --counts data/trace.pftrace >counts ||
		fail "$1: a rule is broken"
	awk '$2 !~ /^perfrec:/ { print $2, $1 }' counts | sort >got
	diff expected got || fail "$1: calls differ in the trace"
	json data/summary.json '.functions[] | "\(.name) \(.calls)"' |
		sort >got
	diff expected got || fail "$1: calls differ in the summary"
	expect_eq "$1: functions in another plugin" "$(json data/summary.json \
		'[.functions[] | select(.name | test("^(alpha|beta|loader)_")) |
		select((.name | sub("_.*"; "")) != (.module | sub(".*/"; "") |
		sub("[.]so"; "")))] | length')" 0
}

recorded once <<'EXPECTED'
main 1
loader_run 1
alpha_begin 1
alpha_leaf 11
alpha_run 1
EXPECTED
recorded threads <<'EXPECTED'
main 1
beta 1
loader_run 2
alpha_begin 1
alpha_end 1
alpha_leaf 12
alpha_run 1
beta_begin 1
beta_end 1
beta_leaf 23
beta_run 1
EXPECTED
recorded family <<'EXPECTED'
main 1
family 1
loader_run 7
alpha_begin 4
alpha_end 1
alpha_leaf 46
alpha_run 4
beta_begin 3
beta_leaf 63
beta_run 3
EXPECTED
