/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc - pairs of malloc() and free(), timed.
 *
 * usage: alloc hot PAIRS [THREADS]     one block of 64 bytes at a time
 *        alloc burst PAIRS [THREADS]   the same, in bursts of 20,000 with
 *                                      untimed pauses of 2 ms
 *        alloc live BLOCKS             BLOCKS blocks of 16 to 512 bytes, which
 *                                      are all allocated before the first one
 *                                      is freed; twice, so that the second time
 *                                      their pages exist
 *
 * Each thread does PAIRS / THREADS; one is the main thread. Prints "pairs",
 * their number in all threads, and the ns of CPU that they took.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/clock.h"

#define THREADS_MAX 16
#define WARM_PAIRS 400000
#define BURST_PAIRS 20000

static long g_pairs;
static const char *g_mode;
static uint64_t g_cpu_ns[THREADS_MAX];

static void keep(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

static void hot(long pairs)
{
	while (pairs--) {
		void *block = malloc(64);

		keep(block);
		free(block);
	}
}

static void live(long blocks)
{
	void **list = calloc((size_t)blocks, sizeof(*list));
	uint32_t random = 1;
	long i;

	if (!list)
		abort();
	for (i = 0; i < blocks; i++) {
		random = random * 1103515245 + 12345;
		list[i] = malloc(16 + (random >> 16) % 497);
		if (!list[i])
			abort();
		*(char *)list[i] = 1;
	}
	for (i = 0; i < blocks; i++)
		free(list[i]);
	free(list);
}

static uint64_t timed(void (*run)(long), long pairs)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	run(pairs);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

static void *work(void *cpu_ns)
{
	const struct timespec pause = { 0, 2000000 };
	uint64_t *total = cpu_ns;
	long done;

	/* Touches all memory, also the rings' and the floor's, on both sides,
	 * so twice round. Waits at the start are over after that. */
	hot(WARM_PAIRS);
	if (!strcmp(g_mode, "live")) {
		live(g_pairs);
		*total = timed(live, g_pairs);
		return NULL;
	}
	if (!strcmp(g_mode, "hot")) {
		*total = timed(hot, g_pairs);
		return NULL;
	}
	for (done = 0; done < g_pairs; done += BURST_PAIRS) {
		nanosleep(&pause, NULL);
		*total += timed(hot, BURST_PAIRS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];
	int threads = argc > 3 ? atoi(argv[3]) : 1, i;
	uint64_t cpu_ns = 0;

	if (argc < 3 || threads < 1 || threads > THREADS_MAX)
		return 2;
	g_mode = argv[1];
	g_pairs = atol(argv[2]) / threads;
	/* Memory that was freed stays with the process. */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_MMAP_MAX, 0);
	if (threads == 1)
		work(&g_cpu_ns[0]);
	for (i = 0; threads > 1 && i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, &g_cpu_ns[i]))
			abort();
	for (i = 0; i < threads; i++) {
		if (threads > 1)
			pthread_join(thread[i], NULL);
		cpu_ns += g_cpu_ns[i];
	}
	printf("pairs %ld %llu\n", g_pairs * threads,
	       (unsigned long long)cpu_ns);
	return 0;
}
