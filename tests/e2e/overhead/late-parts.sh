# SPDX-License-Identifier: Apache-2.0
#
# A function is inlined in the program and in a library that is loaded later: its
# state also holds for its part in the library.
. "$TOP/tests/e2e/lib.sh"
need g++
cat >shared.h <<'SOURCE'
inline long shared(long i)
{
	return i * 3 + 1;
}
SOURCE
cat >plugin.cc <<'SOURCE'
#include "shared.h"
extern "C" long plugin_work(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += shared(i);
	return sum;
}
SOURCE
# Reads from stdin how often each is to be run.
cat >host.cc <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
#include "shared.h"
extern "C" long host_work(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += shared(i);
	return sum;
}
int main()
{
	long (*work)(long) = nullptr;
	void *library = nullptr;
	char word[16];

	printf("%p %ld\n", (void *)&shared, host_work(1000));
	fflush(stdout);
	while (scanf("%15s", word) == 1) {
		if (!library) {
			library = dlopen("./plugin.so", RTLD_NOW);
			work = (long (*)(long))dlsym(library, "plugin_work");
		}
		printf("%ld %ld\n", host_work(1000), work(1000));
		fflush(stdout);
	}
	return !library;
}
SOURCE
flags="-O2 -g -finstrument-functions"
${CXX:-g++} $flags -fPIC -shared -o plugin.so plugin.cc || fail "plugin"
${CXX:-g++} $flags -rdynamic -o host host.cc -ldl || fail "host"
mkfifo input
"$PERFREC" record -q --count shared -o data -- ./host <input >out.host 2>err.host &
recorder=$!
exec 9>input
lines=0
lines_there()
{
	[ -e out.host ] && [ "$(wc -l <out.host)" -ge $lines ]
}
run_once()
{
	lines=$((lines + 1))
	echo run >&9
	wait_for 60 lines_there
}
of_shared()
{
	"$PERFREC" ctl -o data functions --json >list.json || return 1
	jq -r '.functions[0].functions[] | select(.name | startswith("shared")) | .'"$1" list.json
}
lines=1
wait_for 60 lines_there
run_once
# Its sites are those of both from now on; then it is on again.
is_counted()
{
	[ "$(of_shared state)" = counted ] && [ "$(of_shared sites)" -ge 4 ]
}
wait_for 60 is_counted
calls_now()
{
	of_shared calls
}
# Counted in both: so many more calls.
grew()
{
	now=$(calls_now)
	run_once
	[ $(($(calls_now) - now)) -eq 2000 ]
}
wait_for 60 grew
exec 9>&-
wait $recorder || fail "exit status $?: $(cat err.host)"
