/* SPDX-License-Identifier: Apache-2.0
 *
 * sync_victim CASE - calls functions of locks, contended or not (test_sync).
 * Exits with 0 if they behave as without the shim.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/atomic.h"

static pthread_mutex_t g_lock;

static void must(int holds)
{
	if (!holds)
		exit(1);
}

static void init_lock(int type, int protocol, int robust)
{
	pthread_mutexattr_t attributes;

	must(!pthread_mutexattr_init(&attributes));
	must(!pthread_mutexattr_settype(&attributes, type));
	must(!pthread_mutexattr_setprotocol(&attributes, protocol));
	must(!pthread_mutexattr_setrobust(&attributes, robust));
	must(!pthread_mutex_init(&g_lock, &attributes));
}

/* The mark that a thread waits: 2, or the highest bit. */
static void wait_for_waiter(void)
{
	int word;

	do {
		sched_yield();
		/* relaxed: nothing else depends on it */
		word = atom_load_rlx((int *)&g_lock);
	} while (word >= 0 && word != 2);
}

static void *lock_and_unlock(void *unused)
{
	errno = 77;
	must(!pthread_mutex_lock(&g_lock));
	must(!pthread_mutex_unlock(&g_lock));
	must(errno == 77);
	return unused;
}

static void contend(int type, int protocol, int robust)
{
	pthread_t thread;

	init_lock(type, protocol, robust);
	must(!pthread_mutex_lock(&g_lock));
	must(!pthread_create(&thread, NULL, lock_and_unlock, NULL));
	wait_for_waiter();
	errno = 78;
	must(!pthread_mutex_unlock(&g_lock));
	must(errno == 78);
	must(!pthread_join(thread, NULL));
}

static void normal(void)
{
	contend(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0);
}

static void adaptive(void)
{
	contend(PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, 0);
}

static void recursive(void)
{
	contend(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, 0);
}

static void robust(void)
{
	contend(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
}

static void inherit(void)
{
	contend(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0);
}

static void *time_out(void *unused)
{
	const struct timespec past = { 1, 0 };

	must(pthread_mutex_timedlock(&g_lock, &past) == ETIMEDOUT);
	must(pthread_mutex_clocklock(&g_lock, CLOCK_MONOTONIC, &past) ==
	     ETIMEDOUT);
	return unused;
}

static void timed(void)
{
	pthread_t thread;

	init_lock(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0);
	must(!pthread_mutex_lock(&g_lock));
	must(!pthread_create(&thread, NULL, time_out, NULL));
	must(!pthread_join(thread, NULL));
	must(!pthread_mutex_unlock(&g_lock));
}

/* None of these waits for a thread, or wakes one. */
static void alone(void)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL,
				     PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK };

	for (size_t i = 0; i < 12; i++) {
		int type = types[i % 3];

		init_lock(type,
			  i / 3 & 1 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE,
			  i / 6 ? PTHREAD_MUTEX_ROBUST : 0);
		must(!pthread_mutex_lock(&g_lock));
		must(!pthread_mutex_trylock(&g_lock) ==
		     (type == PTHREAD_MUTEX_RECURSIVE));
		if (type == PTHREAD_MUTEX_RECURSIVE) {
			must(!pthread_mutex_lock(&g_lock));
			must(!pthread_mutex_unlock(&g_lock));
			must(!pthread_mutex_unlock(&g_lock));
		}
		if (type == PTHREAD_MUTEX_ERRORCHECK)
			must(pthread_mutex_lock(&g_lock) == EDEADLK);
		must(!pthread_mutex_unlock(&g_lock));
		if (type == PTHREAD_MUTEX_ERRORCHECK)
			must(pthread_mutex_unlock(&g_lock) == EPERM);
		must(!pthread_mutex_destroy(&g_lock));
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} g_cases[] = {
	{ "normal", normal },	    { "adaptive", adaptive },
	{ "recursive", recursive }, { "robust", robust },
	{ "inherit", inherit },	    { "timed", timed },
	{ "alone", alone },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(g_cases) / sizeof(g_cases[0]); i++)
		if (argc == 2 && !strcmp(argv[1], g_cases[i].name)) {
			g_cases[i].run();
			return 0;
		}
	return 2;
}
