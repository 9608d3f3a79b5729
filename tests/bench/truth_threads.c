/* SPDX-License-Identifier: Apache-2.0
 *
 * truth_threads - four threads whose functions take known shares of the CPU
 * time: a tiny function with many calls, a long one with few calls, one under a
 * lock, and one with a wait (truth.sh).
 *
 * usage: truth_threads ROUNDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 4

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t g_sum;

/* A chain of multiplications, so that the time passes inside the function. With
 * a single one, some CPUs show the samples behind the call, in many_tiny(): 18
 * points of perf's table that no build with hooks can have there. */
static __attribute__((noinline)) uint64_t tiny_step(uint64_t x)
{
	for (int i = 0; i < 6; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static __attribute__((noinline)) uint64_t many_tiny(uint64_t x)
{
	for (int i = 0; i < 10000; i++)
		x = tiny_step(x);
	return x;
}

static __attribute__((noinline)) uint64_t mix_word(uint64_t x)
{
	for (int i = 0; i < 8; i++)
		x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return x;
}

static __attribute__((noinline)) uint64_t hash_block(uint64_t x)
{
	for (int i = 0; i < 6000; i++)
		x += mix_word(x + (uint64_t)i);
	return x;
}

static __attribute__((noinline)) uint64_t long_loop(uint64_t x)
{
	for (int i = 0; i < 200000; i++)
		x = x * 3 + (x >> 7);
	return x;
}

static __attribute__((noinline)) void add_locked(uint64_t x)
{
	pthread_mutex_lock(&g_lock);
	for (int i = 0; i < 20000; i++)
		g_sum += x ^ g_sum >> 3;
	pthread_mutex_unlock(&g_lock);
}

static __attribute__((noinline)) void wait_for_others(void)
{
	const struct timespec time = { .tv_nsec = 200000 };

	nanosleep(&time, NULL);
}

static void *work(void *context)
{
	uint64_t x = 88172645463325252u;

	for (long i = *(const long *)context; i > 0; i--) {
		x = many_tiny(x);
		x = hash_block(x);
		x = long_loop(x);
		add_locked(x);
		wait_for_others();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, &rounds))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%llu\n", (unsigned long long)g_sum);
	return 0;
}
