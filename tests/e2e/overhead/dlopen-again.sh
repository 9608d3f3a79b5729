# SPDX-License-Identifier: Apache-2.0
#
# A library that comes and goes keeps the numbers of its functions, so that there
# are enough for ever. A ring of 64 KiB has 511.
. "$TOP/tests/e2e/lib.sh"
need gcc

export XDG_CACHE_HOME="$PWD/cache"
mkdir cache
functions=200
{
	i=0
	while [ $i -lt $functions ]; do
		echo "__attribute__((noinline)) int f$i(int x) { __asm__ volatile(\"\"); return x + $i; }"
		i=$((i + 1))
	done
	echo 'int plugin_work(int x) {'
	i=0
	while [ $i -lt $functions ]; do
		echo "x = f$i(x);"
		i=$((i + 1))
	done
	echo 'return x; }'
} >plugin.c
cat >host.c <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	int (*work)(int);
	void *library = NULL;
	char line[64];

	puts("started");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "load\n"))
			library = dlopen("./plugin.so", RTLD_NOW);
		else if (!strcmp(line, "unload\n"))
			dlclose(library);
		else if ((work = (int (*)(int))dlsym(library, "plugin_work")))
			work(1);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
SOURCE
"$PERFREC" cc --hooks=entry gcc -O1 -fPIC -shared -o plugin.so plugin.c || fail "plugin"
"$PERFREC" cc --hooks=entry gcc -O1 -o host host.c -ldl || fail "host"
mkfifo input
"$PERFREC" record -q --ring-size 64K -o data -- ./host <input >out.host 2>err.host &
recorder=$!
exec 9>input
lines=1
lines_there()
{
	[ -e out.host ] && [ "$(wc -l <out.host)" -ge $lines ]
}
tell()
{
	lines=$((lines + 1))
	echo "$1" >&9
	wait_for 60 lines_there
}
# How many functions of the library are recorded.
connected()
{
	"$PERFREC" ctl -o data functions --json >list.json || return 1
	[ "$(jq '[.functions[0].functions[] | select((.module | endswith("plugin.so")) and .refused == null)] | length' \
		list.json)" -eq $((functions + 1)) ]
}
wait_for 60 lines_there
for round in 1 2 3 4; do
	tell load
	wait_for 60 connected
	tell work
	tell unload
	# So that it is seen to have gone.
	gone()
	{
		! connected
	}
	wait_for 60 gone
done
exec 9>&-
wait $recorder || fail "exit status $?: $(cat err.host)"
expect_eq "libraries never connected" "$(json data/summary.json .totals.missed_modules)" 0
expect_eq "calls of f0" "$(json data/summary.json \
	'[.functions[] | select(.name == "f0") | .calls] | add // 0')" 4
expect_eq "calls of f199" "$(json data/summary.json \
	'[.functions[] | select(.name == "f199") | .calls] | add // 0')" 4
