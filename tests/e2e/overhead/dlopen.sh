# SPDX-License-Identifier: Apache-2.0
#
# A library that is loaded while the program runs is treated as was asked for
# before, and may go and come again.
. "$TOP/tests/e2e/lib.sh"
build plugin.so -shared -fPIC <<'SOURCE'
__attribute__((noinline)) long plugin_leaf(long i) { return i * 5; }
long plugin_work(long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += plugin_leaf(i);
	return sum;
}
SOURCE
build host -ldl <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	long (*work)(long) = NULL;
	void *handle = NULL;
	char line[64];

	puts("started");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "load\n"))
			handle = dlopen("./plugin.so", RTLD_NOW);
		work = handle ? (long (*)(long))dlsym(handle, "plugin_work") : NULL;
		if (!strcmp(line, "work\n"))
			printf("%ld\n", work(100000));
		else if (!strcmp(line, "unload\n"))
			printf("closed %d\n", dlclose(handle)), handle = NULL;
		else
			puts("done");
		fflush(stdout);
	}
	return 0;
}
SOURCE
mkfifo input
"$PERFREC" record -q --count plugin_leaf -o data -- ./host <input >out.host 2>err.host &
recorder=$!
exec 9>input
lines=1
lines_there()
{
	[ "$(wc -l <out.host)" -ge $lines ]
}
wait_for 60 lines_there
tell()
{
	lines=$((lines + 1))
	echo "$1" >&9
	wait_for 60 lines_there
}
for round in 1 2; do
	tell load
	tell work
	wait_for 60 function_is plugin_leaf counted
	tell work
	tell unload
done
exec 9>&-
wait $recorder || fail "exit status $?"
calls=$(json data/summary.json '[.functions[] | select(.name == "plugin_leaf") | .calls] | add')
# Calls may be missing while perfrec connects the function: on a busy machine
# all of the first hundred thousand. Later calls are complete.
[ "$calls" != null ] || fail "no plugin_leaf: $(json data/summary.json \
	'[.functions[] | [.name, .module, .calls]]')"
[ "$calls" -le 400000 ] || fail "$calls calls of plugin_leaf"
[ "$calls" -ge 200000 ] || fail "only $calls calls of plugin_leaf"
spans=$(json data/summary.json .totals.spans)
# Calls were recorded before the collector knew the library.
[ "$spans" -lt 202000 ] || fail "$spans spans: they were recorded, not counted"
