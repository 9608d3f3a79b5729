/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/record/task_bases.h"
#include "shared/atomic.h"
#include "tests/suite.h"

#define THREADS 257

static pthread_barrier_t g_ready, g_go;
static pid_t g_tid;

static void *thread(void *unused)
{
	/* relaxed: the barrier orders it; of many threads any will do */
	atom_store_rlx(&g_tid, (pid_t)syscall(SYS_gettid));
	pthread_barrier_wait(&g_ready);
	pthread_barrier_wait(&g_go);
	return unused;
}

/* This thread's own times, finer than those of /proc. */
static struct task_times say(void)
{
	struct timespec now;
	struct rusage usage;

	/* Updates the kernel's counts. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	getrusage(RUSAGE_THREAD, &usage);
	return (struct task_times){
		.user_ns = (uint64_t)usage.ru_utime.tv_sec * 1000000000 +
			   (uint64_t)usage.ru_utime.tv_usec * 1000,
		.system_ns = (uint64_t)usage.ru_stime.tv_sec * 1000000000 +
			     (uint64_t)usage.ru_stime.tv_usec * 1000,
		.minor_faults = (uint64_t)usage.ru_minflt,
		.major_faults = (uint64_t)usage.ru_majflt,
	};
}

TEST(task_bases_have_what_a_thread_said_of_itself)
{
	struct task_times said = say(), found, lie, coarse;
	struct task_bases *bases;
	pid_t self = getpid();

	bases = task_bases_new(self, self, &said);
	ck_assert_ptr_nonnull(bases);
	ck_assert(task_bases_find(bases, self, &found));
	ck_assert_uint_gt(found.on_cpu_ns, 0);
	ck_assert_uint_eq(found.minor_faults, said.minor_faults);
	ck_assert_uint_eq(found.user_ns, said.user_ns);
	ck_assert_uint_eq(found.system_ns, said.system_ns);
	task_bases_free(&bases);
	ck_assert_ptr_null(bases);
	/* Impossible figures are ignored. */
	memset(&lie, 0xff, sizeof(lie));
	bases = task_bases_new(self, self, &lie);
	ck_assert(task_bases_find(bases, self, &coarse));
	ck_assert_uint_le(coarse.user_ns, say().user_ns);
	ck_assert_uint_le(coarse.minor_faults, say().minor_faults);
	task_bases_free(&bases);
}

TEST(task_bases_of_who_comes_later_are_zero)
{
	struct task_times said = { 0 }, found = { .on_cpu_ns = 1 };
	struct task_bases *bases = task_bases_new(getpid(), 0, &said);
	pthread_t other;

	pthread_barrier_init(&g_ready, NULL, 2);
	pthread_barrier_init(&g_go, NULL, 2);
	pthread_create(&other, NULL, thread, NULL);
	pthread_barrier_wait(&g_ready);
	ck_assert(task_bases_find(bases, g_tid, &found));
	ck_assert_uint_eq(found.on_cpu_ns, 0);
	task_bases_free(&bases);
	bases = task_bases_new(getpid(), 0, &said);
	ck_assert(task_bases_find(bases, g_tid, &found));
	ck_assert_uint_gt(found.on_cpu_ns, 0);
	pthread_barrier_wait(&g_go);
	pthread_join(other, NULL);
	task_bases_free(&bases);
}

TEST(task_bases_of_more_threads_than_are_read_are_unknown)
{
	struct task_times said = { 0 }, found;
	struct task_bases *bases;
	pthread_t other[THREADS];

	pthread_barrier_init(&g_ready, NULL, THREADS + 1);
	pthread_barrier_init(&g_go, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&other[i], NULL, thread, NULL),
				 0);
	pthread_barrier_wait(&g_ready);
	bases = task_bases_new(getpid(), 0, &said);
	pthread_barrier_wait(&g_go);
	for (int i = 0; i < THREADS; i++)
		pthread_join(other[i], NULL);
	ck_assert(task_bases_find(bases, getpid(), &found));
	ck_assert(!task_bases_find(bases, 1, &found));
	task_bases_free(&bases);
}

TEST(task_bases_of_nobody_are_unknown)
{
	struct task_times said = { 0 }, found = { .on_cpu_ns = 1 };

	ck_assert_ptr_null(task_bases_new(0, 0, &said));
	ck_assert(!task_bases_find(NULL, 1, &found));
	ck_assert_uint_eq(found.on_cpu_ns, 0);
}
