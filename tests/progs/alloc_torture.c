/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc_torture THREADS PAIRS - threads that allocate and free as fast as they
 * can, PAIRS times in all: blocks of their own, and blocks that others have
 * left in slots which all of them share. Ends with every block freed, and
 * prints a checksum of what lay in them, which does not depend on who ran when.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/atomic.h"

#define THREADS_MAX 64
#define SLOTS 512
#define SIZE_MAX_BYTES 2000

static void *g_slot[SLOTS];
static uint64_t g_pairs;

struct worker {
	pthread_t thread;
	uint64_t random, sum;
};

static uint64_t next_random(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

/* Checks that a freed block has its content, and frees it. */
static void take_back(void *block)
{
	unsigned char *bytes = block;

	if (!block)
		return;
	if (bytes[0] != 0x5a || bytes[1] != 0xa5)
		abort();
	bytes[0] = bytes[1] = 0;
	free(block);
}

static void *make(struct worker *worker)
{
	size_t size = 2 + next_random(worker) % SIZE_MAX_BYTES;
	unsigned char *block = malloc(size);

	if (!block)
		abort();
	if (size % 16 == 0) {
		block = realloc(block, size * 2);
		if (!block)
			abort();
	}
	block[0] = 0x5a;
	block[1] = 0xa5;
	worker->sum += size;
	return block;
}

static void *work(void *context)
{
	struct worker *worker = context;
	uint64_t i;

	for (i = 0; i < g_pairs; i++) {
		void *block = make(worker);

		if (i % 4 == 0)
			/* order: sc, another thread wrote the block */
			block = atom_xchg_sc(
				&g_slot[next_random(worker) % SLOTS], block);
		take_back(block);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker worker[THREADS_MAX];
	int threads = argc > 1 ? atoi(argv[1]) : 16, i;
	uint64_t sum = 0;

	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	g_pairs = strtoull(argc > 2 ? argv[2] : "1000000", NULL, 10) /
		  (uint64_t)threads;
	for (i = 0; i < threads; i++) {
		worker[i].random =
			UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(i + 1);
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			abort();
	}
	for (i = 0; i < threads; i++) {
		pthread_join(worker[i].thread, NULL);
		sum += worker[i].sum;
	}
	for (i = 0; i < SLOTS; i++)
		take_back(g_slot[i]);
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
