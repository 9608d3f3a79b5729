/* SPDX-License-Identifier: Apache-2.0
 *
 * nest_victim - threads that call the hooks in deep, random, well nested
 * patterns and keep their own count; signals do the same in between.
 *
 *   nest_victim THREADS CALLS RESULT
 *
 * RESULT gets a line "tid begins" for each thread. A span's made-up address is
 * its depth, so a checker knows the matching end.
 */
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "shared/atomic.h"

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

#define DEPTH_MAX 700
/* Per process. A waiting thread gets alarms as well, with about 90 records
 * each. Without a limit a busy machine would prolong the test. */
#define ALARMS_MAX 2000

static __thread long t_begins;
static __thread unsigned int t_seed;
static __thread int t_depth;
static FILE *g_result;
static long g_calls;
static uint32_t g_alarms;

/* Returns the number of spans. */
static __attribute__((noinline)) long nest(int levels)
{
	long made = 1;

	t_begins++;
	t_depth++;
	__cyg_profile_func_enter((void *)(uintptr_t)(0x1000 + t_depth), NULL);
	while (levels > 0 && rand_r(&t_seed) % 4)
		made += nest(levels - 1 - rand_r(&t_seed) % 3);
	__cyg_profile_func_exit((void *)(uintptr_t)(0x1000 + t_depth), NULL);
	t_depth--;
	return made;
}

/* Straight down: the ends must fit into the last quarter of the ring. */
static __attribute__((noinline)) void dive(int levels)
{
	t_begins++;
	t_depth++;
	__cyg_profile_func_enter((void *)(uintptr_t)(0x1000 + t_depth), NULL);
	if (levels)
		dive(levels - 1);
	__cyg_profile_func_exit((void *)(uintptr_t)(0x1000 + t_depth), NULL);
	t_depth--;
}

static void on_alarm(int signal)
{
	unsigned int seed = t_seed;

	(void)signal;
	/* relaxed: a count */
	if (atom_add_rlx(&g_alarms, 1) >= ALARMS_MAX)
		return;
	nest(5);
	t_seed = seed;
}

static void *run(void *argument)
{
	long made = 0;

	t_seed = (unsigned int)(uintptr_t)argument;
	while (made < g_calls) {
		made += nest(12);
		if (rand_r(&t_seed) % 100 == 0)
			dive(DEPTH_MAX);
	}
	/* Blocked from here on: a late handler would change the count. */
	sigset_t alarm;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	fprintf(g_result, "%ld %ld\n", (long)syscall(SYS_gettid), t_begins);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_alarm,
				    .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 700 }, { 0, 700 } };
	pthread_t threads[64];
	long count, i;

	if (argc != 4)
		errx(2, "usage: nest_victim THREADS CALLS RESULT");
	count = strtol(argv[1], NULL, 10);
	g_calls = strtol(argv[2], NULL, 10);
	g_result = fopen(argv[3], "w");
	if (!g_result || count < 1 || count > 64)
		err(1, "%s", argv[3]);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 1; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			errx(1, "pthread_create");
	run((void *)count);
	for (i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
	return fclose(g_result) ? 1 : 0;
}
