/* SPDX-License-Identifier: Apache-2.0
 *
 * many - so many calls in two threads that the index of the trace has several
 * chunks of each, and a thread that comes later. "many N" makes N times as
 * many.
 */
#include <pthread.h>
#include <stdlib.h>

static volatile long sum;

__attribute__((noinline)) static void leaf(long i)
{
	sum += i;
}

__attribute__((noinline)) static void twig(long n)
{
	for (long i = 0; i < n; i++)
		leaf(i);
}

__attribute__((noinline)) static void deep(long n)
{
	if (n)
		deep(n - 1);
	else
		twig(40);
}

static void *work(void *rounds)
{
	for (long i = 0; i < (long)rounds; i++)
		i % 3 ? twig(50) : deep(i % 40);
	return NULL;
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 1;
	pthread_t one;

	pthread_create(&one, NULL, work, (void *)(2500L * times));
	work((void *)(4000L * times));
	pthread_join(one, NULL);
	pthread_create(&one, NULL, work, (void *)(100L * times));
	pthread_join(one, NULL);
	return 0;
}
