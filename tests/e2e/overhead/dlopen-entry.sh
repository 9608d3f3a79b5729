#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A plugin of an entry build calls no hook before its functions are connected,
# and a program may load nothing after it. It is recorded soon all the same.
. "$TOP/tests/e2e/lib.sh"
need gcc

export XDG_CACHE_HOME="$PWD/cache"
mkdir cache
cat >plugin.c <<'SOURCE'
__attribute__((noinline)) int plugin_work(int x)
{
	__asm__ volatile("");
	return x + 1;
}
SOURCE
# It is over before the collector reads the map anyway, a second after the start.
cat >host.c <<'SOURCE'
#include <dlfcn.h>
#include <time.h>
static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
int main(void)
{
	const struct timespec pause = { 0, 1000000 };
	long begin = now_ms();
	void *handle = dlopen("./plugin.so", RTLD_NOW);
	int (*work)(int) = handle ? (int (*)(int))dlsym(handle, "plugin_work") : 0;

	if (!work)
		return 1;
	while (now_ms() - begin < 700) {
		work(1);
		nanosleep(&pause, 0);
	}
	return 0;
}
SOURCE
"$PERFREC" cc --hooks=entry gcc -O2 -fPIC -shared -o plugin.so plugin.c || fail "plugin"
"$PERFREC" cc --hooks=entry gcc -O2 -o host host.c -ldl || fail "host"
calls=0
# On a busy machine the collector may not run in time.
for _ in 1 2 3 4 5; do
	rm -rf data
	run_ok "$PERFREC" record -q --cpu off -o data -- ./host
	calls=$(json data/summary.json \
		'[.functions[] | select(.name == "plugin_work") | .calls] | add // 0')
	[ "$calls" -eq 0 ] || exit 0
done
fail "no call of the plugin was recorded"
