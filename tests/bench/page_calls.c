/* SPDX-License-Identifier: Apache-2.0
 *
 * page_calls SPANS THREADS - makes about that many calls, in trees of some
 * thousand different stacks, by several threads: a large trace for bench-page.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS 8

static volatile unsigned int sink;
static long g_rounds;

typedef void call(unsigned int depth, unsigned int seed);
static call *const calls[FUNCTIONS];

/* Each calls two others, which ones depends on @seed: from a few seeds come
 * some thousand stacks. */
#define CALL(name, step)                                                     \
	__attribute__((noinline)) static void name(unsigned int depth,       \
						   unsigned int seed)        \
	{                                                                    \
		sink += seed;                                                \
		if (!depth)                                                  \
			return;                                              \
		calls[(seed + (step)) % FUNCTIONS](depth - 1, seed + 1);     \
		calls[(seed * 3 + (step)) % FUNCTIONS](depth - 1, seed + 3); \
	}
CALL(parse, 1)
CALL(plan, 2)
CALL(scan, 3)
CALL(join, 4)
CALL(sort, 5)
CALL(merge, 6)
CALL(hash, 7)
CALL(send, 8)

static call *const calls[FUNCTIONS] = { parse, plan,  scan, join,
					sort,  merge, hash, send };

static void *work(void *number)
{
	for (long i = 0; i < g_rounds; i++)
		calls[i % FUNCTIONS](9, (unsigned int)(uintptr_t)number +
						(unsigned int)(i % 4));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	long spans = argc > 1 ? atol(argv[1]) : 1000000;
	long count = argc > 2 ? atol(argv[2]) : 4;

	if (count < 1 || count > 64)
		return 2;
	g_rounds = spans / 1023 / count;
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work,
				   (void *)(uintptr_t)i))
			return 1;
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
