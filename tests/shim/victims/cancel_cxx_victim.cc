/* SPDX-License-Identifier: Apache-2.0
 *
 * cancel_cxx_victim CASE [pending] - cancels a thread that waits in a function of
 * locks, or before it begins to wait (test_sync). Exits with 0 if its destructors
 * and cleanup handlers run, and its locks are free, as without the shim. "pending"
 * is for cancellation points without more threads.
 */
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

static const struct timespec g_late = { LONG_MAX, 0 };

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
static mtx_t g_mutex;
static cnd_t g_changed;
static sem_t g_semaphore;
static pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t g_barrier;
static pthread_once_t g_once = PTHREAD_ONCE_INIT;
static pthread_t g_joined;
static int g_end[2]; /* a pipe */
static int g_word, g_runs;

/* What the cancelled thread did. */
static int g_tid, g_destroyed, g_cleaned, g_returned;
static int g_second; /* the next thread that runs a routine once */
static int g_go; /* the cancelled thread may begin to wait */

static void must(bool holds)
{
	if (!holds)
		_exit(1);
}

struct counted {
	~counted()
	{
		g_destroyed++;
	}
};

static void clean_up(void *)
{
	g_cleaned++;
}

/* --- the waits ------------------------------------------------------------ */

struct locked {
	locked()
	{
		must(!pthread_mutex_lock(&g_lock));
	}
	/* The wait for a condition has it again. */
	~locked()
	{
		must(!pthread_mutex_unlock(&g_lock));
	}
};

struct locked_c11 {
	locked_c11()
	{
		must(mtx_lock(&g_mutex) == thrd_success);
	}
	~locked_c11()
	{
		must(mtx_unlock(&g_mutex) == thrd_success);
	}
};

static int cond_wait()
{
	locked lock;

	return pthread_cond_wait(&g_condition, &g_lock);
}

static int cond_timedwait()
{
	locked lock;

	return pthread_cond_timedwait(&g_condition, &g_lock, &g_late);
}

static int cond_clockwait()
{
	locked lock;

	return pthread_cond_clockwait(&g_condition, &g_lock, CLOCK_MONOTONIC,
				      &g_late);
}

static int c11_wait()
{
	locked_c11 lock;

	return cnd_wait(&g_changed, &g_mutex);
}

static int c11_timedwait()
{
	locked_c11 lock;

	return cnd_timedwait(&g_changed, &g_mutex, &g_late);
}

static int c11_join()
{
	return thrd_join(g_joined, NULL);
}

static int semaphore_wait()
{
	return sem_wait(&g_semaphore);
}

static int semaphore_timedwait()
{
	return sem_timedwait(&g_semaphore, &g_late);
}

static int semaphore_clockwait()
{
	return sem_clockwait(&g_semaphore, CLOCK_MONOTONIC, &g_late);
}

static int join()
{
	return pthread_join(g_joined, NULL);
}

static int timedjoin()
{
	return pthread_timedjoin_np(g_joined, NULL, &g_late);
}

static int clockjoin()
{
	return pthread_clockjoin_np(g_joined, NULL, CLOCK_MONOTONIC, &g_late);
}

static void wait_in_routine()
{
	counted again;

	if (!g_runs++)
		sem_wait(&g_semaphore);
}

static int once()
{
	return pthread_once(&g_once, wait_in_routine);
}

static int read_lock()
{
	return pthread_rwlock_rdlock(&g_rwlock) ||
	       pthread_rwlock_unlock(&g_rwlock);
}

static int write_lock()
{
	return pthread_rwlock_wrlock(&g_rwlock) ||
	       pthread_rwlock_unlock(&g_rwlock);
}

static int barrier()
{
	return pthread_barrier_wait(&g_barrier) > 0;
}

static int mutex()
{
	return pthread_mutex_lock(&g_lock) || pthread_mutex_unlock(&g_lock);
}

static int c11_mutex()
{
	return mtx_lock(&g_mutex) || mtx_unlock(&g_mutex);
}

static int futex()
{
	return (int)syscall(SYS_futex, &g_word, FUTEX_WAIT_PRIVATE, 0, NULL);
}

/* --- what the main thread does before and after the cancellation ------------ */

static void take_all()
{
	must(!pthread_rwlock_wrlock(&g_rwlock));
	must(!pthread_mutex_lock(&g_lock));
	must(mtx_lock(&g_mutex) == thrd_success);
}

/* The thread waits for one of them, and goes on. */
static void release_all()
{
	must(!pthread_rwlock_unlock(&g_rwlock));
	must(!pthread_mutex_unlock(&g_lock));
	must(mtx_unlock(&g_mutex) == thrd_success);
}

static void nothing()
{
}

static void reach_barrier()
{
	must(pthread_barrier_wait(&g_barrier) <= 0);
}

static void wake()
{
	must(syscall(SYS_futex, &g_word, FUTEX_WAKE_PRIVATE, 1) == 1);
}

struct wait_case {
	const char *name;
	int (*wait)();
	/* Of a function that is no cancellation point: the wait ends so. */
	void (*before)(), (*after)();
};

static const struct wait_case g_cases[] = {
	{ "cond_wait", cond_wait, nothing, NULL },
	{ "cond_timedwait", cond_timedwait, nothing, NULL },
	{ "cond_clockwait", cond_clockwait, nothing, NULL },
	{ "cnd_wait", c11_wait, nothing, NULL },
	{ "cnd_timedwait", c11_timedwait, nothing, NULL },
	{ "sem_wait", semaphore_wait, nothing, NULL },
	{ "sem_timedwait", semaphore_timedwait, nothing, NULL },
	{ "sem_clockwait", semaphore_clockwait, nothing, NULL },
	{ "join", join, nothing, NULL },
	{ "timedjoin", timedjoin, nothing, NULL },
	{ "clockjoin", clockjoin, nothing, NULL },
	{ "thrd_join", c11_join, nothing, NULL },
	{ "once", once, nothing, NULL },
	{ "rdlock", read_lock, take_all, release_all },
	{ "wrlock", write_lock, take_all, release_all },
	{ "mutex", mutex, take_all, release_all },
	{ "mtx", c11_mutex, take_all, release_all },
	{ "barrier", barrier, nothing, reach_barrier },
	{ "futex", futex, nothing, wake },
};

/* --- threads -------------------------------------------------------------- */

static void *wait_and_die(void *argument)
{
	const struct wait_case *test = (const struct wait_case *)argument;
	counted here;

	pthread_cleanup_push(clean_up, NULL);
	must(!pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	__atomic_store_n(&g_tid, (int)syscall(SYS_gettid), __ATOMIC_RELAXED);
	while (!__atomic_load_n(&g_go, __ATOMIC_RELAXED))
		sched_yield();
	must(!pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
	must(!test->wait());
	g_returned++;
	pthread_testcancel();
	pthread_cleanup_pop(0);
	return NULL;
}

static void *wait_for_end(void *)
{
	char byte;

	must(!read(g_end[0], &byte, 1));
	return NULL;
}

static void *run_once(void *)
{
	__atomic_store_n(&g_second, (int)syscall(SYS_gettid), __ATOMIC_RELAXED);
	must(!once());
	return NULL;
}

/* /proc shows the call of a thread: futex, by its number. */
static void wait_until_blocked(int tid)
{
	char path[64], text[256] = "", number[16];

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	snprintf(number, sizeof(number), "%d ", SYS_futex);
	do {
		FILE *file = fopen(path, "r");

		must(file && fgets(text, sizeof(text), file) && !fclose(file));
		sched_yield();
	} while (strncmp(text, number, strlen(number)) != 0);
}

static pthread_t start_second()
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, run_once, NULL));
	while (!__atomic_load_n(&g_second, __ATOMIC_RELAXED))
		sched_yield();
	wait_until_blocked(g_second);
	return thread;
}

static void go()
{
	__atomic_store_n(&g_go, 1, __ATOMIC_RELAXED);
}

static void cancel(const struct wait_case *test, bool pending)
{
	pthread_t thread, second;
	bool is_once = test->wait == once;
	void *result;

	test->before();
	must(!pthread_create(&g_joined, NULL, wait_for_end, NULL));
	must(!pthread_create(&thread, NULL, wait_and_die, (void *)test));
	while (!__atomic_load_n(&g_tid, __ATOMIC_RELAXED))
		sched_yield();
	if (pending) {
		must(!pthread_cancel(thread));
		go();
	} else {
		go();
		wait_until_blocked(g_tid);
		if (is_once)
			second = start_second();
		must(!pthread_cancel(thread));
	}
	if (test->after)
		test->after();
	must(!pthread_join(thread, &result));
	must(result == PTHREAD_CANCELED);
	must(g_cleaned == 1 && g_returned == !!test->after);
	/* The routine of the cancelled thread runs again in the other. */
	if (is_once)
		must(!pthread_join(second, NULL) && g_runs == 2);
	must(g_destroyed == (is_once ? 3 : 1));
	/* The thread holds no lock, and waits for none. */
	take_all();
	must(!sem_post(&g_semaphore) && !sem_trywait(&g_semaphore));
	must(!close(g_end[1]) && !pthread_join(g_joined, NULL));
	must(!pthread_cond_destroy(&g_condition));
	cnd_destroy(&g_changed);
}

int main(int argc, char **argv)
{
	must(mtx_init(&g_mutex, mtx_plain) == thrd_success);
	must(cnd_init(&g_changed) == thrd_success);
	must(!sem_init(&g_semaphore, 0, 0) && !pipe(g_end));
	must(!pthread_barrier_init(&g_barrier, NULL, 2));
	for (const wait_case &test : g_cases)
		if (!strcmp(argv[1], test.name)) {
			cancel(&test, argc > 2);
			return 0;
		}
	return 2;
}
