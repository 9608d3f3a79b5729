#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A library of an entry build that one process loads again and again is said to
# have been loaded so often, by one process; of several processes each counts
# once.
. "$TOP/tests/e2e/lib.sh"

cat >plugin.c <<'SOURCE'
int plugin(int n) { return n + 1; }
SOURCE
cat >host.c <<'SOURCE'
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
/* Loads and unloads the plugin 3 times; it stays for so long. */
static void load(int ms)
{
	for (int i = 0; i < 3; i++) {
		void *handle = dlopen("./plugin.so", RTLD_NOW);
		int (*call)(int);

		if (!handle)
			_exit(2);
		call = (int (*)(int))dlsym(handle, "plugin");
		call(1);
		for (int k = 0; k < ms; k++, call(k))
			usleep(1000);
		dlclose(handle);
	}
}
int main(int argc, char **argv)
{
	int children = atoi(argv[1]), ms = atoi(argv[2]);
	(void)argc;
	for (int i = 0; i < children; i++)
		if (!fork()) {
			load(ms);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	if (!children)
		load(ms);
	return 0;
}
SOURCE
"$PERFREC" cc --hooks=entry gcc -O2 -shared -fPIC -o plugin.so plugin.c ||
	fail plugin.so
"$PERFREC" cc --hooks=entry gcc -O2 -o host host.c -ldl || fail host

# told CHILDREN PROCESSES: on a busy machine loads are missed, and said apart.
told()
{
	for ms in 60 120 240 480 960 1920; do
		rm -rf data
		run_ok "$PERFREC" record --cpu off -o data -- ./host "$1" $ms
		late=$(json data/summary.json .totals.late_modules)
		[ "$late" -lt $(($2 * 3)) ] || break
	done
	expect_eq "connected late of $2" "$late" $(($2 * 3))
	json data/summary.json '.notes[]' >notes
	expect_match notes "$3"
}
told 0 1 'plugin\.so was connected up to .* after dlopen\(\), 3 times in 1 process: its calls'
told 2 2 'plugin\.so was connected up to .* after dlopen\(\), 6 times in 2 processes: its calls'

# Never connected: gone at once, as often.
run_ok "$PERFREC" record --cpu off -o data -- ./host 0 0
json data/summary.json '.notes[]' >notes
missed=$(json data/summary.json .totals.missed_modules)
if [ "$missed" -gt 1 ]; then
	expect_match notes "plugin\.so was loaded by dlopen\(\) and never connected, $missed times in 1 process: none"
fi
expect_no_match notes 'in [0-9]+ processes'
