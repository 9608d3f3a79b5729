/* SPDX-License-Identifier: Apache-2.0
 *
 * locks [ROUNDS] - what an uncontended pair of lock and unlock takes in ns, by
 * the program's own calls, which the shim may wrap, and by the C library's
 * functions. Prints both, and their difference: each the least of all rounds,
 * which alternate, so that other load hits both.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

#include "tests/bench/clock.h"

#define PAIRS 200000

typedef int on_object(void *object);

/* Not inline: both kinds of calls go through pointers. */
__attribute__((noinline)) static double pair_ns(on_object *begin,
						on_object *end, void *object)
{
	uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < PAIRS; i++) {
		begin(object);
		end(object);
	}
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before) / PAIRS;
}

#define PAIR(begin, end)                                         \
	{                                                        \
		{ #begin, #end },                                \
		{                                                \
			(on_object *)(begin), (on_object *)(end) \
		}                                                \
	}

static const struct pair {
	const char *names[2];
	on_object *own[2];
} g_pairs[] = {
	PAIR(pthread_mutex_lock, pthread_mutex_unlock),
	PAIR(sem_post, sem_wait),
	PAIR(pthread_rwlock_wrlock, pthread_rwlock_unlock),
	PAIR(pthread_rwlock_rdlock, pthread_rwlock_unlock),
	PAIR(mtx_lock, mtx_unlock),
};

static void compare(const struct pair *pair, int rounds, void *object)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	double least[2] = { 1e9, 1e9 };
	on_object *begin = (on_object *)dlsym(libc, pair->names[0]);
	on_object *end = (on_object *)dlsym(libc, pair->names[1]);

	for (int i = 0; i < rounds * 2; i++) {
		double ns = i % 2 ? pair_ns(begin, end, object)
				  : pair_ns(pair->own[0], pair->own[1], object);

		if (ns < least[i % 2])
			least[i % 2] = ns;
	}
	printf("%-22s %6.2f ns, the C library %6.2f, more %5.2f\n",
	       pair->names[0], least[0], least[1], least[0] - least[1]);
}

/* All zero: an object of each kind that nobody has. */
static union {
	pthread_mutex_t mutex;
	sem_t semaphore;
	pthread_rwlock_t rwlock;
	mtx_t c11;
} g_objects[sizeof(g_pairs) / sizeof(g_pairs[0])];

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;

	for (size_t i = 0; i < sizeof(g_pairs) / sizeof(g_pairs[0]); i++)
		compare(&g_pairs[i], rounds, &g_objects[i]);
	return 0;
}
