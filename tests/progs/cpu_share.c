/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_share HOW COUNT MS - CPU time that is spent by others than the main
 * thread, in COUNT parts of MS each:
 *
 *   threads  one after the other, each joined
 *   forks    one after the other, each waited for
 *   shell    by the main thread, which forks a child that does nothing in
 *            between
 *   both     COUNT threads at once, in each of two processes at once
 *   exit     COUNT threads at once, which exit_group() ends while they wait
 *   kill     the same with SIGKILL, of a child
 *
 * On one CPU the kernel switches between tasks that have equal perf events.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64

static long g_ns;
static volatile unsigned long g_work;

static long clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void spend(void)
{
	long end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + g_ns;

	do {
		for (int i = 0; i < 10000; i++)
			g_work += (unsigned long)i;
	} while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end);
}

static void *run(void *stay)
{
	spend();
	while (stay)
		pause();
	return NULL;
}

static void one_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) ||
	    pthread_join(thread, NULL))
		exit(2);
}

static void one_fork(void)
{
	pid_t pid = fork();

	if (!pid) {
		spend();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void one_command(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	spend();
}

/* COUNT at once; if they @stay, until they have spent all. */
static void crowd(int count, int stay)
{
	pthread_t thread[THREADS_MAX];
	long start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int i;

	for (i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, run, stay ? &g_ns : NULL))
			exit(2);
	for (i = 0; i < count && !stay; i++)
		pthread_join(thread[i], NULL);
	while (stay &&
	       clock_ns(CLOCK_PROCESS_CPUTIME_ID) < start + count * g_ns)
		usleep(1000);
}

static int one_by_one(int count, void (*spend_one)(void))
{
	while (count--)
		spend_one();
	return 0;
}

static int at_once(int count, const char *how)
{
	int stay = strcmp(how, "both") != 0;
	pid_t pid = 0;

	if (strcmp(how, "exit") != 0)
		pid = fork();
	/* The parent of the killed process only waits. */
	if (!pid || !stay)
		crowd(count, stay);
	if (!pid && !strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[1] : "";
	int count = argc > 3 ? atoi(argv[2]) : 0;

	if (count < 1)
		return 2;
	g_ns = atol(argv[3]) * 1000000L;
	if (!strcmp(how, "threads"))
		return one_by_one(count, one_thread);
	if (!strcmp(how, "forks"))
		return one_by_one(count, one_fork);
	if (!strcmp(how, "shell"))
		return one_by_one(count, one_command);
	return count > THREADS_MAX ? 2 : at_once(count, how);
}
