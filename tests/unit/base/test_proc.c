/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/lock.h"
#include "collector/base/proc.h"
#include "collector/names/outer_ids.h"
#include "tests/suite.h"

TEST(proc_status_of_same_namespace_has_one_id)
{
	pid_t inner = 0;

	ck_assert_int_eq(proc_status_inner(
				 "Name:\tx\nNSpid:\t17\nNSpgid:\t18\n", &inner),
			 1);
	ck_assert_int_eq(inner, 17);
}

TEST(proc_status_of_nested_namespaces_ends_in_the_innermost)
{
	pid_t inner = 0;

	ck_assert_int_eq(
		proc_status_inner("Name:\tx\nNSpid:\t1700\t23\t4\nNSsid:\t1\n",
				  &inner),
		3);
	ck_assert_int_eq(inner, 4);
}

TEST(proc_status_without_the_line_tells_nothing)
{
	pid_t inner = 5;

	ck_assert_int_eq(proc_status_inner("", &inner), 0);
	ck_assert_int_eq(proc_status_inner("Name:\tNSpid:\t1\n", &inner), 0);
	ck_assert_int_eq(proc_status_inner("NSpid:\n", &inner), 0);
	ck_assert_int_eq(inner, 5);
}

TEST(proc_status_number_is_found_at_the_start_of_a_line)
{
	const char *status = "Name:\tPPid:\t9\nPPid:\t42\nUid:\t0\t0\n";

	ck_assert_int_eq(proc_status_number(status, "PPid:"), 42);
	ck_assert_int_eq(proc_status_number(status, "Gid:"), -1);
}

TEST(proc_read_of_nobody_is_empty)
{
	char text[16] = "before";

	ck_assert_uint_eq(proc_read(0, "status", text, sizeof(text)), 0);
	ck_assert_str_eq(text, "");
	ck_assert_uint_eq(proc_read(getpid(), "status", text, sizeof(text)),
			  sizeof(text) - 1);
	ck_assert_int_eq(text[sizeof(text) - 1], '\0');
}

static bool is_pid(const void *context, pid_t pid)
{
	return *(const pid_t *)context == pid;
}

TEST(outer_ids_child_is_found_if_it_is_one)
{
	pid_t self = getpid(), pid = fork(), parent = getppid();

	if (!pid) {
		pause();
		_exit(0);
	}
	ck_assert_int_eq(outer_ids_child(self, pid, is_pid, &pid), pid);
	ck_assert_int_eq(outer_ids_child(self, pid, is_pid, &self), 0);
	ck_assert_int_eq(outer_ids_child(self, parent, is_pid, &parent), 0);
	ck_assert_int_eq(outer_ids_any(parent, is_pid, &parent), parent);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(outer_ids_any(pid, is_pid, &pid), 0);
}

static pthread_barrier_t g_barrier;

static void *tell_tid(void *out)
{
	*(pid_t *)out = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&g_barrier);
	pthread_barrier_wait(&g_barrier);
	return NULL;
}

TEST(outer_ids_thread_comes_and_goes)
{
	struct outer_threads threads = { .lock = LOCK_INITIALIZER(OUTER_IDS) };
	pid_t self = getpid(), tid;
	pthread_t thread;

	pthread_barrier_init(&g_barrier, NULL, 2);
	ck_assert_int_eq(outer_ids_thread(&threads, self, self), self);
	pthread_create(&thread, NULL, tell_tid, &tid);
	pthread_barrier_wait(&g_barrier);
	ck_assert_int_eq(outer_ids_thread(&threads, self, tid), tid);
	pthread_barrier_wait(&g_barrier);
	pthread_join(thread, NULL);
	/* A dying thread may stay visible for a moment. */
	while (outer_ids_thread(&threads, self, tid))
		sched_yield();
	ck_assert_int_eq(outer_ids_thread(&threads, self, 0x7fffffff), 0);
	outer_ids_release(&threads);
}

TEST(proc_resident_bytes_grow_with_touched_pages)
{
	const size_t bytes = 64u << 20;
	uint64_t before = proc_resident_bytes(getpid());
	volatile char *memory = malloc(bytes);

	ck_assert(memory);
	ck_assert_uint_gt(before, 0);
	for (size_t at = 0; at < bytes; at += 1024)
		memory[at] = 1;
	ck_assert_uint_ge(proc_resident_bytes(getpid()), before + bytes / 2);
	ck_assert_uint_eq(proc_resident_bytes(INT_MAX), 0);
	free((void *)memory);
}

TEST(proc_stat_fields_are_counted_behind_the_name)
{
	const char *stat = "7 (a) R (b) S 1 22 333";

	ck_assert_int_eq(proc_stat_field(stat, 3)[0], 'S');
	ck_assert_int_eq(atoi(proc_stat_field(stat, 5)), 22);
	ck_assert_str_eq(proc_stat_field(stat, 6), "333");
	ck_assert_str_eq(proc_stat_field(stat, 7), "");
	ck_assert_str_eq(proc_stat_field("", 3), "");
}

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* The first of its two threads does @run. */
static pid_t start(void *run(void *))
{
	int tube[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(tube), 0);
	pid = fork();
	if (!pid) {
		pthread_t thread;

		pthread_create(&thread, NULL, sleep_on, NULL);
		(void)!write(tube[1], "", 1);
		run(NULL);
	}
	ck_assert_int_eq(read(tube[0], &byte, 1), 1);
	close(tube[0]);
	close(tube[1]);
	return pid;
}

static void *leave_thread(void *unused)
{
	pthread_exit(unused);
}

/* A process lives on without its first thread. A killed process is dying before
 * anyone waits. */
TEST(proc_is_dying_once_no_thread_goes_on, EACH(0, 2))
{
	pid_t pid = start(_i ? leave_thread : sleep_on);
	char text[PROC_STAT_BYTES];
	siginfo_t info;

	while (_i && proc_read(pid, "stat", text, sizeof(text)) &&
	       proc_stat_field(text, 3)[0] != 'Z')
		sched_yield();
	ck_assert(!proc_is_dying(pid));
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	/* A thread that took SIGKILL may not be exiting yet. */
	while (!proc_is_dying(pid))
		sched_yield();
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	ck_assert(proc_is_dying(pid));
	waitpid(pid, NULL, 0);
	ck_assert(proc_is_dying(pid));
	ck_assert(!proc_is_dying(getpid()));
}
