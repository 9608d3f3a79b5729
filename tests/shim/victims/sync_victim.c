/* SPDX-License-Identifier: Apache-2.0
 *
 * sync_victim CASE - calls functions of locks, contended or not (test_sync).
 * Exits with 0 if they behave as without the shim.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

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

static void post_in_handler(int signal)
{
	(void)signal;
	must(!sem_post(&g_semaphore));
}

static void handler(void)
{
	pthread_t thread;

	must(!sem_init(&g_semaphore, 0, 0));
	must(signal(SIGUSR1, post_in_handler) != SIG_ERR);
	must(!pthread_create(&thread, NULL, wait_for_post, NULL));
	/* relaxed: nothing else depends on it */
	while (!atom_load_rlx((int *)&g_semaphore + 1))
		sched_yield();
	must(!raise(SIGUSR1));
	must(!pthread_join(thread, NULL));
}

/* --- locks for readers and writers ---------------------------------------- */

static pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static const struct timespec g_past = { 1, 0 };

static void *read_later(void *unused)
{
	must(!pthread_rwlock_rdlock(&g_rwlock));
	must(!pthread_rwlock_unlock(&g_rwlock));
	return unused;
}

static void *write_later(void *unused)
{
	must(!pthread_rwlock_wrlock(&g_rwlock));
	must(!pthread_rwlock_unlock(&g_rwlock));
	return unused;
}

static void *try_in_vain(void *writes_only)
{
	if (!writes_only) {
		must(pthread_rwlock_timedrdlock(&g_rwlock, &g_past) ==
		     ETIMEDOUT);
		must(pthread_rwlock_clockrdlock(&g_rwlock, CLOCK_MONOTONIC,
						&g_past) == ETIMEDOUT);
	}
	must(pthread_rwlock_timedwrlock(&g_rwlock, &g_past) == ETIMEDOUT);
	must(pthread_rwlock_clockwrlock(&g_rwlock, CLOCK_MONOTONIC, &g_past) ==
	     ETIMEDOUT);
	return writes_only;
}

static pthread_t start_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, run, argument));
	return thread;
}

static void rwlock(void)
{
	pthread_t thread;

	/* A writer has it: wait for the mark of a waiting writer, or a
	 * reader. */
	must(!pthread_rwlock_wrlock(&g_rwlock));
	must(pthread_rwlock_wrlock(&g_rwlock) == EDEADLK);
	must(pthread_rwlock_rdlock(&g_rwlock) == EDEADLK);
	must(!pthread_join(start_thread(try_in_vain, NULL), NULL));
	thread = start_thread(read_later, NULL);
	/* relaxed: nothing else depends on it */
	while (!(atom_load_rlx(&g_rwlock.__data.__readers) >> 3))
		sched_yield();
	must(!pthread_rwlock_unlock(&g_rwlock));
	must(!pthread_join(thread, NULL));
	must(!pthread_rwlock_wrlock(&g_rwlock));
	thread = start_thread(write_later, NULL);
	/* relaxed: as above */
	while (!(atom_load_rlx(&g_rwlock.__data.__writers_futex) & 2))
		sched_yield();
	must(!pthread_rwlock_unlock(&g_rwlock));
	must(!pthread_join(thread, NULL));
	/* Two readers have it, and only the last one's unlock wakes. */
	must(!pthread_rwlock_rdlock(&g_rwlock));
	must(!pthread_rwlock_rdlock(&g_rwlock));
	thread = start_thread(write_later, NULL);
	/* relaxed: as above */
	while (!(atom_load_rlx(&g_rwlock.__data.__wrphase_futex) & 2))
		sched_yield();
	must(!pthread_rwlock_unlock(&g_rwlock));
	must(!pthread_rwlock_unlock(&g_rwlock));
	must(!pthread_join(thread, NULL));
}

static void rwlock_alone(void)
{
	for (int i = 0; i < 3; i++) {
		must(!pthread_rwlock_rdlock(&g_rwlock));
		must(!pthread_rwlock_timedrdlock(&g_rwlock, &g_past));
		must(pthread_rwlock_trywrlock(&g_rwlock) == EBUSY);
		must(!pthread_rwlock_unlock(&g_rwlock));
		must(!pthread_rwlock_unlock(&g_rwlock));
		must(!pthread_rwlock_wrlock(&g_rwlock));
		must(pthread_rwlock_tryrdlock(&g_rwlock) == EBUSY);
		must(!pthread_rwlock_unlock(&g_rwlock));
	}
}

/* --- points that other threads reach -------------------------------------- */

static pthread_barrier_t g_barrier;
static pthread_once_t g_once = PTHREAD_ONCE_INIT;
static int g_word, g_runs;

static void *reach_barrier(void *unused)
{
	must(pthread_barrier_wait(&g_barrier) <= 0);
	return unused;
}

static void barrier(void)
{
	pthread_t thread;

	must(!pthread_barrier_init(&g_barrier, NULL, 2));
	thread = start_thread(reach_barrier, NULL);
	/* relaxed: nothing else depends on it */
	while (!atom_load_rlx((int *)&g_barrier))
		sched_yield();
	must(pthread_barrier_wait(&g_barrier) <= 0);
	must(!pthread_join(thread, NULL));
	must(!pthread_barrier_destroy(&g_barrier));
}

/* /proc shows the call of a thread: number and arguments. */
static void wait_until_blocked(int tid)
{
	char path[64], text[256] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	do {
		FILE *file = fopen(path, "r");

		must(file != NULL);
		must(fgets(text, sizeof(text), file) != NULL);
		must(!fclose(file));
		sched_yield();
	} while (strncmp(text, "202 ", 4) != 0 && strncmp(text, "98 ", 3) != 0);
}

static int g_second;

static void (*g_second_routine)(void) = abort;

static void once_inside(void)
{
	const struct timespec past = { 1, 0 };

	g_runs++;
	must(!sem_init(&g_semaphore, 0, 0));
	must(sem_timedwait(&g_semaphore, &past) == -1 && errno == ETIMEDOUT);
}

static void *second_of_once(void *unused)
{
	/* relaxed: nothing else depends on it */
	atom_store_rlx(&g_second, (int)syscall(SYS_gettid));
	must(!pthread_once(&g_once, g_second_routine));
	return unused;
}

static pthread_t g_thread;

static void first_of_once(void)
{
	g_runs++;
	g_thread = start_thread(second_of_once, NULL);
	/* relaxed: as above */
	while (!atom_load_rlx(&g_second))
		sched_yield();
	wait_until_blocked(g_second);
}

static void once(void)
{
	must(!pthread_once(&g_once, first_of_once));
	must(!pthread_once(&g_once, abort));
	must(!pthread_join(g_thread, NULL));
	must(g_runs == 1);
}

static void leave_routine(void)
{
	g_thread = start_thread(second_of_once, NULL);
	/* relaxed: as above */
	while (!atom_load_rlx(&g_second))
		sched_yield();
	wait_until_blocked(g_second);
	pthread_exit(NULL);
}

static void *leave_once(void *unused)
{
	must(!pthread_once(&g_once, leave_routine));
	return unused;
}

/* The second thread runs its own routine, which waits as well. */
static void once_left(void)
{
	g_second_routine = once_inside;
	must(!pthread_join(start_thread(leave_once, NULL), NULL));
	must(!pthread_join(g_thread, NULL));
	must(g_runs == 1);
}

static void *wait_for_word(void *unused)
{
	errno = 77;
	must(syscall(SYS_futex, &g_word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL,
		     0) == 0);
	must(errno == 77);
	return unused;
}

static void futex(void)
{
	const struct timespec soon = { 0, 1000 };
	pthread_t thread;
	int woken;

	must(syscall(SYS_futex, &g_word, FUTEX_WAIT_PRIVATE, 1, NULL) == -1 &&
	     errno == EAGAIN);
	/* The mask of bits is the last argument: 0 is an error. */
	must(syscall(SYS_futex, &g_word, FUTEX_WAIT_BITSET_PRIVATE, 0, &g_past,
		     NULL, 4) == -1 &&
	     errno == ETIMEDOUT);
	must(syscall(SYS_futex, &g_word, 99, 0, &soon, NULL, 0) == -1 &&
	     errno == ENOSYS);
	must(syscall(SYS_futex, &g_word, FUTEX_WAKE_PRIVATE, 1) == 0);
	thread = start_thread(wait_for_word, NULL);
	do {
		sched_yield();
		woken = (int)syscall(SYS_futex, &g_word,
				     FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL,
				     8);
	} while (!woken);
	must(woken == 1);
	must(!pthread_join(thread, NULL));
}

static void *wait_for_word_0(void *unused)
{
	/* relaxed: nothing else depends on it */
	while (!atom_load_rlx(&g_word))
		sched_yield();
	return unused;
}

static void join(void)
{
	pthread_t thread = start_thread(wait_for_word_0, NULL);
	void *result;

	must(pthread_timedjoin_np(thread, &result, &g_past) == ETIMEDOUT);
	must(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &g_past) ==
	     ETIMEDOUT);
	must(pthread_tryjoin_np(thread, &result) == EBUSY);
	/* relaxed: nothing else depends on it */
	atom_store_rlx(&g_word, 1);
	must(!pthread_join(thread, &result));
	must(!result);
}

/* --- <threads.h> ---------------------------------------------------------- */

static mtx_t g_mutex;
static cnd_t g_changed;

static int use_c11(void *unused)
{
	(void)unused;
	must(mtx_timedlock(&g_mutex, &g_past) == thrd_timedout);
	/* relaxed: nothing else depends on it */
	atom_store_rlx(&g_second, (int)syscall(SYS_gettid));
	must(mtx_lock(&g_mutex) == thrd_success);
	must(cnd_timedwait(&g_changed, &g_mutex, &g_past) == thrd_timedout);
	g_word = 1; /* under the lock */
	must(cnd_wait(&g_changed, &g_mutex) == thrd_success);
	must(mtx_unlock(&g_mutex) == thrd_success);
	/* The main thread joins this one. */
	wait_until_blocked(getpid());
	return 5;
}

static void c11(void)
{
	thrd_t thread;
	int result;

	must(mtx_init(&g_mutex, mtx_timed) == thrd_success);
	must(cnd_init(&g_changed) == thrd_success);
	must(mtx_lock(&g_mutex) == thrd_success);
	must(thrd_create(&thread, use_c11, NULL) == thrd_success);
	/* The call that times out leaves the mark of a waiter, but must not find
	 * the lock free. relaxed: nothing else depends on it */
	while (!atom_load_rlx(&g_second))
		sched_yield();
	wait_until_blocked(g_second);
	while (!g_word) {
		must(mtx_unlock(&g_mutex) == thrd_success);
		sched_yield();
		must(mtx_lock(&g_mutex) == thrd_success);
	}
	must(cnd_signal(&g_changed) == thrd_success);
	must(mtx_unlock(&g_mutex) == thrd_success);
	must(thrd_join(thread, &result) == thrd_success && result == 5);
	must(cnd_broadcast(&g_changed) == thrd_success);
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

/* Ten calls that give data to another end, or end it. */
static void writes(void)
{
	struct iovec part = { .iov_base = "x", .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct mmsghdr messages = { .msg_hdr = message };
	int ends[2], pair[2], event = eventfd(0, 0), null;

	null = open("/dev/null", O_WRONLY);
	must(!pipe(ends));
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	must(write(ends[1], "x", 1) == 1);
	must(writev(ends[1], &part, 1) == 1);
	must(send(pair[0], "x", 1, 0) == 1);
	must(sendto(pair[0], "x", 1, 0, NULL, 0) == 1);
	must(sendmsg(pair[0], &message, 0) == 1);
	must(sendmmsg(pair[0], &messages, 1, 0) == 1);
	must(write(pair[0], "x", 1) == 1);
	must(!eventfd_write(event, 1));
	must(!shutdown(pair[0], SHUT_WR));
	must(!close(ends[1]));
	/* No data, no other end, and no file. */
	must(!write(pair[1], "", 0));
	must(!send(pair[1], "", 0, 0));
	must(!sendto(pair[1], "", 0, 0, NULL, 0));
	must(write(null, "x", 1) == 1);
	must(!close(null));
	errno = 0;
	must(write(null, "x", 1) == -1 && errno == EBADF);
	must(close(-1) == -1);
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
	{ "handler", handler },
	{ "rwlock", rwlock },
	{ "rwlock_alone", rwlock_alone },
	{ "barrier", barrier },
	{ "once", once },
	{ "once_left", once_left },
	{ "futex", futex },
	{ "join", join },
	{ "c11", c11 },
	{ "filtered", filtered },
	{ "writes", writes },
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
