/* SPDX-License-Identifier: Apache-2.0
 *
 * busy CALLS [THREADS] [CHILDREN] - calls leaf() CALLS times in each of THREADS
 * threads, and in CHILDREN forked children, and fib() as often as fib(15) does.
 * Prints the same sum each time. With CALLS 0: until stdin ends, with a line
 * after each round.
 */
#include <pthread.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long g_calls;

__attribute__((noinline)) long leaf(long i)
{
	return i ^ (i >> 3);
}

__attribute__((noinline)) long fib(long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) long work(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += leaf(i);
	return sum + fib(15);
}

static void *thread_run(void *result)
{
	*(long *)result = work(g_calls);
	return NULL;
}

static long run_threads(long count)
{
	pthread_t threads[64];
	long results[64] = { 0 }, sum = 0;

	for (long i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, thread_run, &results[i]);
	for (long i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		sum += results[i];
	}
	return sum;
}

static void run_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		work(g_calls);
		exit(0);
	}
	waitpid(pid, NULL, 0);
}

static int stdin_is_open(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };

	return poll(&input, 1, 0) == 0;
}

int main(int argc, char **argv)
{
	long threads = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	long children = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	long sum;

	g_calls = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (!g_calls && stdin_is_open()) {
		sum = work(100000);
		printf("%ld\n", sum);
	}
	sum = g_calls ? work(g_calls) : 0;
	sum += run_threads(threads < 64 ? threads : 64);
	for (long i = 0; i < children; i++)
		run_child();
	printf("%ld\n", sum);
	return 0;
}
