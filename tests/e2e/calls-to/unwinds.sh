# SPDX-License-Identifier: Apache-2.0
# long: compiles and records many programs
#
# Calls through slots let exceptions, cancelled threads, longjmp() and backtraces pass,
# also together with --patch; also calls by a library that is opened later.
. "$TOP/tests/e2e/lib.sh"
need jq g++

for flags in '-O2 -Wl,-z,lazy' '-O2 -static-libgcc -static-libstdc++ -no-pie -fno-plt'; do
	# shellcheck disable=SC2086 # several words
	g++ -std=c++20 -w $flags -g -o unwinds "$TOP/tests/progs/patch/unwinds.cc" \
		-pthread || skip "g++ cannot compile with $flags"
	./unwinds >expected
	[ $? -eq 5 ] || fail "$flags: unwinds fails alone"
	for more in '' $(case $flags in *lazy) echo --patch ;; esac); do
		set -f
		# shellcheck disable=SC2086 # two words, or none
		run "$PERFREC" record -q --calls-to='*' --alloc=off --cpu=off $more \
			-o data -- ./unwinds
		set +f
		expect_status 5
		cmp -s out expected || fail "$flags, $more: $(diff out expected)"
		"$O/tests/tools/trace_check" data/trace.pftrace >checked ||
			fail "$flags, $more: $(cat checked)"
	done
done

# An exception that leaves the callback of a function of the C library.
cat >sort.cc <<'C'
#include <cstdio>
#include <cstdlib>
static int compare(const void *, const void *) { throw 5; }
int main()
{
	int list[3] = { 3, 2, 1 }, caught = 0;

	for (int i = 0; i < 1000; i++)
		try {
			qsort(list, 3, sizeof(int), compare);
		} catch (int value) {
			caught += value;
		}
	printf("%d\n", caught);
}
C
g++ -O2 -fno-plt -o sort sort.cc || fail 'cannot compile sort.cc'
run "$PERFREC" record -q --calls-to=qsort --alloc=off --cpu=off -o data -- ./sort
expect_status 0
expect_eq output "$(cat out)" 5000
expect_eq calls "$(json data/summary.json '.functions[0] | "\(.name) \(.calls)"')" \
	'qsort 1000'

# A library that is opened later, with all calls bound, and one that binds lazily.
cat >plugin.c <<'C'
#include <unistd.h>
int plugin_run(void)
{
	int sum = 0;

	for (int i = 0; i < 100; i++)
		sum += getppid() > 0;
	return sum;
}
C
cat >opens.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	int (*run)(void) = NULL;
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			run = (int (*)(void))dlsym(dlopen(line, RTLD_LAZY), "plugin_run");
		printf("%d\n", run());
		fflush(stdout);
	}
	return 0;
}
C
gcc -O2 -fPIC -shared -Wl,-z,now -o now.so plugin.c
gcc -O2 -fPIC -shared -Wl,-z,lazy -o lazy.so plugin.c
gcc -O2 -o opens opens.c
mkfifo input
answered()
{
	[ "$(wc -l <out)" -ge "$1" ]
}
for library in now lazy; do
	"$PERFREC" record -q --calls-to=getppid --alloc=off --cpu=off -o data -- \
		./opens <input >out 2>err &
	recorder=$!
	exec 9>input
	echo "./$library.so" >&9
	wait_for 60 answered 1
	wait_for 60 function_is getppid span
	# The first hundred calls may come before the slot is connected.
	printf '\n\n' >&9
	wait_for 60 answered 3
	exec 9>&-
	wait $recorder || fail "$library.so: exit status $?: $(cat err)"
	expect_eq "output with $library.so" "$(sort -u out)" 100
	calls=$(json data/summary.json '.functions[] | select(.name == "getppid") | .calls')
	[ "$calls" -ge 200 ] && [ "$calls" -le 300 ] ||
		fail "$calls calls of getppid by $library.so"
done

# A static program has no slots, and no shim.
cat >static.c <<'C'
#include <unistd.h>
int main(void) { return getppid() > 0 ? 6 : 7; }
C
if gcc -O2 -static-pie -o static static.c; then
	run "$PERFREC" record --calls-to=getppid --alloc=off --cpu=off -o data -- ./static
	expect_status 6
	expect_match err 'static'
fi
