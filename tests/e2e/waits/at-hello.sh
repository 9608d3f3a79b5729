# SPDX-License-Identifier: Apache-2.0
#
# Threads that run when recording starts, and threads that start later, all on one
# CPU: the kernel swaps their perf events. No thread gets the time of another.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

# A library that has made threads before perfrec's says hello.
cat >early.c <<'SOURCE'
#include <pthread.h>
#include <stdlib.h>
#define THREADS 2
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;
static struct early {
	pthread_t thread;
	void *(*run)(void *);
	void *argument;
} g_early[THREADS];
static void *early(void *of)
{
	struct early *mine = of;

	pthread_mutex_lock(&g_lock);
	while (!mine->run)
		pthread_cond_wait(&g_changed, &g_lock);
	pthread_mutex_unlock(&g_lock);
	return mine->run(mine->argument);
}
pthread_t early_go(void *(*run)(void *), void *argument)
{
	static int next;
	struct early *one = &g_early[next++];

	pthread_mutex_lock(&g_lock);
	one->argument = argument;
	one->run = run;
	pthread_cond_broadcast(&g_changed);
	pthread_mutex_unlock(&g_lock);
	return one->thread;
}
__attribute__((constructor)) static void start(void)
{
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&g_early[i].thread, NULL, early, &g_early[i]))
			abort();
}
SOURCE
gcc -O1 -shared -fPIC -Wl,-z,initfirst -o early.so early.c -pthread ||
	fail 'cannot compile early.c'

early="LD_PRELOAD=$PWD/early.so:\$LD_PRELOAD exec $WAITS/cpus swaps"
perf_permitted || sums=--sums
for cpu in 99 off; do
	run_ok timeout 100 "$PERFREC" record -q --cpu=$cpu \
		-o early-$cpu sh -c "$early"
	cp out early-$cpu.truth
	expect_eq 'threads that were there' "$(jq -s '[.[] |
		select(.is == "thread" and .made_ns == 0)] | length' out)" 3
	# shellcheck disable=SC2086 # no word, or one
	waits_agree early-$cpu $sums
done
