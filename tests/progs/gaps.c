/* SPDX-License-Identifier: Apache-2.0
 *
 * gaps CALLS THREADS FILE - each thread calls work() CALLS times, as fast as
 * it can; prints the sum of their results, and into FILE the longest time, in
 * microseconds, in which one of them made no progress.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "shared/compiler.h"

#define THREADS_MAX 16
#define CALLS_PER_LOOK 32

struct worker {
	pthread_t thread;
	long calls;
	uint64_t sum, longest_ns;
};

__attribute__((noinline)) static uint64_t work(uint64_t sum)
{
	return sum * 31 + 1;
}

ATTR_NOTRACE static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *run(void *context)
{
	struct worker *worker = context;
	uint64_t now, last = now_ns();
	long i;

	for (i = 0; i < worker->calls; i++) {
		worker->sum = work(worker->sum);
		if (i % CALLS_PER_LOOK)
			continue;
		now = now_ns();
		if (now - last > worker->longest_ns)
			worker->longest_ns = now - last;
		last = now;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker workers[THREADS_MAX] = { 0 };
	int i, threads = argc == 4 ? atoi(argv[2]) : 0;
	uint64_t sum = 0, longest_ns = 0;
	FILE *file;

	if (threads < 1 || threads > THREADS_MAX) {
		fputs("usage: gaps CALLS THREADS FILE\n", stderr);
		return 2;
	}
	for (i = 0; i < threads; i++) {
		workers[i].calls = atol(argv[1]);
		pthread_create(&workers[i].thread, NULL, run, &workers[i]);
	}
	for (i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		sum += workers[i].sum;
		if (workers[i].longest_ns > longest_ns)
			longest_ns = workers[i].longest_ns;
	}
	file = fopen(argv[3], "w");
	if (!file)
		return 1;
	fprintf(file, "%llu\n", (unsigned long long)longest_ns / 1000);
	printf("%llu\n", (unsigned long long)sum);
	return fclose(file) ? 1 : 0;
}
