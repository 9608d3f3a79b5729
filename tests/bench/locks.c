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

#include "tests/bench/clock.h"

#define PAIRS 200000

static pthread_mutex_t g_lock;
static sem_t g_semaphore;

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

static void compare(const char *what, int rounds, on_object *const own[2],
		    const char *const names[2], void *object)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	double least[2] = { 1e9, 1e9 };
	on_object *begin = (on_object *)dlsym(libc, names[0]);
	on_object *end = (on_object *)dlsym(libc, names[1]);

	for (int i = 0; i < rounds * 2; i++) {
		double ns = i % 2 ? pair_ns(begin, end, object)
				  : pair_ns(own[0], own[1], object);

		if (ns < least[i % 2])
			least[i % 2] = ns;
	}
	printf("%-10s %6.2f ns, the C library %6.2f, more %5.2f\n", what,
	       least[0], least[1], least[0] - least[1]);
}

int main(int argc, char **argv)
{
	static const char *const lock[] = { "pthread_mutex_lock",
					    "pthread_mutex_unlock" };
	static const char *const post[] = { "sem_post", "sem_wait" };
	on_object *const own_lock[] = { (on_object *)pthread_mutex_lock,
					(on_object *)pthread_mutex_unlock };
	on_object *const own_post[] = { (on_object *)sem_post,
					(on_object *)sem_wait };
	int rounds = argc > 1 ? atoi(argv[1]) : 100;

	sem_init(&g_semaphore, 0, 0);
	compare("mutex", rounds, own_lock, lock, &g_lock);
	compare("semaphore", rounds, own_post, post, &g_semaphore);
	return 0;
}
