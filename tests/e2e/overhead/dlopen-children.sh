# SPDX-License-Identifier: Apache-2.0
#
# A library of an entry build that a forked child loads is recorded in that child,
# also if another child has another library at the same address. The summary
# counts libraries that were connected late or unloaded before they could be.
. "$TOP/tests/e2e/lib.sh"
need gcc

export XDG_CACHE_HOME="$PWD/cache"
mkdir cache
for name in one two; do
	cat >$name.c <<-SOURCE
	__attribute__((noinline)) int ${name}_work(int x)
	{
		__asm__ volatile("");
		return x + 1;
	}
	SOURCE
	"$PERFREC" cc --hooks=entry gcc -O2 -fPIC -shared -o $name.so $name.c || fail $name
done
# host MS: two children call their library for so long.
cat >host.c <<'SOURCE'
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
__attribute__((noinline)) static int serve(const char *path, const char *name, long ms)
{
	const struct timespec pause = { 0, 1000000 };
	long begin = now_ms();
	void *library = dlopen(path, RTLD_NOW);
	int (*work)(int) = library ? (int (*)(int))dlsym(library, name) : 0;

	if (!work)
		return 1;
	while (now_ms() - begin < ms) {
		work(1);
		nanosleep(&pause, 0);
	}
	return work(1) != 2;
}
int main(int argc, char **argv)
{
	long ms = atol(argv[argc - 1]);
	int status, failed = 0;

	for (int i = 0; i < 4; i++)
		if (!fork())
			exit(i & 1 ? serve("./one.so", "one_work", ms) :
				     serve("./two.so", "two_work", ms));
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}
SOURCE
"$PERFREC" cc --hooks=entry gcc -O2 -o host host.c -ldl || fail "host"

calls_of()
{
	json data/summary.json "[.functions[] | select(.name == \"$1\") | .calls] | add // 0"
}
total()
{
	json data/summary.json ".totals.$1"
}
# On a busy machine the collector may not run in time: then they go on for longer.
for ms in 700 1400 2800 5600 11200; do
	rm -rf data
	run_ok "$PERFREC" record --cpu off -o data -- ./host $ms
	[ "$(total late_modules)" -lt 4 ] || break
done
expect_eq "libraries connected late" "$(total late_modules)" 4
expect_eq "libraries never connected" "$(total missed_modules)" 0
[ "$(total late_ns)" -gt 0 ] || fail "it took no time"
[ "$(calls_of one_work)" -gt 0 ] || fail "no call of one_work"
[ "$(calls_of two_work)" -gt 0 ] || fail "no call of two_work"
expect_match err 'one\.so was connected .* after dlopen\(\), in 2 processes: its calls before that are not recorded'
"$O/tests/tools/trace_check" data/trace.pftrace >/dev/null || fail "the trace is not well formed"
strings data/trace.pftrace >names
expect_match names 'perfrec: .*one\.so not recorded yet' \
	'perfrec: .*one\.so recorded from here on'

# The same of a program without hooks: its children tell nothing.
gcc -O2 -o plain host.c -ldl || fail "plain"
for ms in 700 1400 2800 5600 11200; do
	rm -rf data
	run_ok "$PERFREC" record --cpu off -o data -- ./plain $ms
	[ "$(total late_modules)" -lt 4 ] || break
done
expect_eq "libraries connected late in a program without hooks" "$(total late_modules)" 4
[ "$(calls_of one_work)" -gt 0 ] || fail "no call of one_work in a program without hooks"

# Gone at once: in each child it is connected, or said never to have been.
rm -rf data
run_ok "$PERFREC" record --cpu off -o data -- ./host 0
expect_eq "libraries told" "$(($(total late_modules) + $(total missed_modules)))" 4
[ "$(total missed_modules)" -eq 0 ] ||
	expect_match err 'lost .*never connected' 'was loaded by dlopen\(\) and never connected'
