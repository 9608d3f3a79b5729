/* SPDX-License-Identifier: Apache-2.0
 *
 * sync_victim CASE - calls functions of locks, contended or not (test_sync).
 * Exits with 0 if they behave as without the shim.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "preload/perfrec.h"
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

/* The wait began before the pause. */
static void paused(void)
{
	pthread_t thread;

	init_lock(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0);
	must(!pthread_mutex_lock(&g_lock));
	must(!pthread_create(&thread, NULL, lock_and_unlock, NULL));
	wait_for_waiter();
	perfrec_pause();
	must(!pthread_mutex_unlock(&g_lock));
	must(!pthread_join(thread, NULL));
}

/* Its word is not 0 when nobody holds it. Only real-time threads get it. */
static void ceiling(void)
{
	init_lock(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, 0);
	if (!pthread_mutex_lock(&g_lock))
		must(!pthread_mutex_unlock(&g_lock));
	must(!pthread_mutex_destroy(&g_lock));
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

/* --- conditions and semaphores -------------------------------------------- */

static pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
static sem_t g_semaphore;
static int g_cleaned;

static void clean_up(void *unused)
{
	(void)unused;
	/* The thread has the lock again. */
	must(!pthread_mutex_unlock(&g_lock));
	g_cleaned++;
}

static void *wait_for_condition(void *unused)
{
	pthread_cleanup_push(clean_up, NULL);
	must(!pthread_mutex_lock(&g_lock));
	must(!pthread_cond_wait(&g_condition, &g_lock));
	pthread_cleanup_pop(1);
	return unused;
}

/* Returns with the lock held, when @thread waits. */
static pthread_t start_waiter(void)
{
	pthread_t thread;

	init_lock(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0);
	must(!pthread_create(&thread, NULL, wait_for_condition, NULL));
	must(!pthread_mutex_lock(&g_lock));
	while (!(g_condition.__data.__wrefs >> 3)) {
		must(!pthread_mutex_unlock(&g_lock));
		sched_yield();
		must(!pthread_mutex_lock(&g_lock));
	}
	return thread;
}

static void condition(void)
{
	const struct timespec past = { 1, 0 };
	pthread_t thread = start_waiter();

	must(!pthread_cond_signal(&g_condition));
	must(!pthread_mutex_unlock(&g_lock));
	must(!pthread_join(thread, NULL));
	must(g_cleaned == 1);
	must(!pthread_mutex_lock(&g_lock));
	must(pthread_cond_timedwait(&g_condition, &g_lock, &past) == ETIMEDOUT);
	must(pthread_cond_clockwait(&g_condition, &g_lock, CLOCK_MONOTONIC,
				    &past) == ETIMEDOUT);
	must(!pthread_cond_broadcast(&g_condition));
}

static void cancelled(void)
{
	pthread_t thread = start_waiter();
	void *result;

	must(!pthread_mutex_unlock(&g_lock));
	must(!pthread_cancel(thread));
	must(!pthread_join(thread, &result));
	must(result == PTHREAD_CANCELED && g_cleaned == 1);
	must(!pthread_mutex_trylock(&g_lock));
}

static void *wait_for_post(void *unused)
{
	errno = 77;
	must(!sem_wait(&g_semaphore));
	must(errno == 77);
	return unused;
}

static void semaphore(void)
{
	const struct timespec past = { 1, 0 };
	pthread_t thread;

	must(!sem_init(&g_semaphore, 0, 0));
	must(!pthread_create(&thread, NULL, wait_for_post, NULL));
	/* The second word counts waiting threads. */
	/* relaxed: nothing else depends on it */
	while (!atom_load_rlx((int *)&g_semaphore + 1))
		sched_yield();
	must(!sem_post(&g_semaphore));
	must(!pthread_join(thread, NULL));
	must(sem_timedwait(&g_semaphore, &past) == -1 && errno == ETIMEDOUT);
	errno = 0;
	must(sem_clockwait(&g_semaphore, CLOCK_MONOTONIC, &past) == -1 &&
	     errno == ETIMEDOUT);
	must(!sem_post(&g_semaphore) && !sem_wait(&g_semaphore));
}

#if defined(__x86_64__)
__asm__(".symver old_timedwait, pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");
int old_timedwait(void *condition, pthread_mutex_t *mutex,
		  const struct timespec *until);
int old_signal(void *condition);

/* A condition of that version is one pointer. */
static void old_version(void)
{
	const struct timespec past = { 1, 0 };
	void *old[3] = { NULL, &g_lock, &g_lock };

	init_lock(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0);
	must(!pthread_mutex_lock(&g_lock));
	must(old_timedwait(old, &g_lock, &past) == ETIMEDOUT);
	must(!old_signal(old));
	must(old[0] && old[1] == &g_lock && old[2] == &g_lock);
}
#else
static void old_version(void)
{
}
#endif

/* A filter kills for gettid(), which the shim may not call any more. */
static void filtered(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	init_lock(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, 0);
	must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	must(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	must(!pthread_mutex_lock(&g_lock) && !pthread_mutex_lock(&g_lock));
	must(!pthread_mutex_unlock(&g_lock) && !pthread_mutex_unlock(&g_lock));
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
	{ "normal", normal },
	{ "adaptive", adaptive },
	{ "recursive", recursive },
	{ "robust", robust },
	{ "inherit", inherit },
	{ "paused", paused },
	{ "ceiling", ceiling },
	{ "timed", timed },
	{ "alone", alone },
	{ "condition", condition },
	{ "cancelled", cancelled },
	{ "semaphore", semaphore },
	{ "old_version", old_version },
	{ "filtered", filtered },
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
