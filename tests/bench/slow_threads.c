/* SPDX-License-Identifier: Apache-2.0
 *
 * slow_threads THREADS SPANS [MS] - THREADS threads that each make SPANS calls,
 * one for each ms: a recording of many slow threads, for bench-large.
 *
 * A thread sleeps for MS (20) and then makes MS calls, because no machine with
 * two CPUs wakes a thread a million times a second. A request is four calls:
 * serve() and three calls inside. Threads start evenly spread over MS.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REQUEST 4 /* calls */

static volatile unsigned int g_sum;
static long g_threads, g_requests, g_ms = 20;
static struct timespec g_start;

#define CALL(name, rounds)                                     \
	__attribute__((noinline)) static void name(long seed)  \
	{                                                      \
		for (long i = 0; i < (rounds) + seed % 8; i++) \
			g_sum += (unsigned int)i;              \
	}
CALL(parse, 10)
CALL(look_up, 30)
CALL(reply, 20)

__attribute__((noinline)) static void serve(long seed)
{
	parse(seed);
	look_up(seed);
	reply(seed);
}

/* Thread @number waits until @ms after the common start. */
__attribute__((no_instrument_function)) static void wait_until(long number,
							       long ms)
{
	int64_t ns = (int64_t)g_start.tv_nsec + ms * 1000000 +
		     g_ms * 1000000 * number / g_threads;
	struct timespec until = { g_start.tv_sec + ns / 1000000000,
				  ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void *work(void *number)
{
	long each = g_ms / REQUEST;

	for (long i = 0; i < g_requests; i++) {
		if (i % each == 0)
			wait_until((long)(intptr_t)number, i / each * g_ms);
		serve(i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	pthread_t *threads;
	long i;

	g_threads = argc > 1 ? atol(argv[1]) : 0;
	g_requests = argc > 2 ? atol(argv[2]) / REQUEST : 0;
	if (argc > 3)
		g_ms = atol(argv[3]);
	if (g_threads < 1 || g_threads > 100000 || g_requests < 1 ||
	    g_ms < REQUEST || argc > 4) {
		fprintf(stderr, "usage: slow_threads THREADS SPANS [MS]\n");
		return 2;
	}
	threads = calloc((size_t)g_threads, sizeof(*threads));
	if (!threads)
		return 1;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 << 10);
	clock_gettime(CLOCK_MONOTONIC, &g_start);
	for (i = 0; i < g_threads; i++)
		if (pthread_create(&threads[i], &attributes, work,
				   (void *)(intptr_t)i)) {
			perror("slow_threads: pthread_create");
			return 1;
		}
	for (i = 0; i < g_threads; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}
