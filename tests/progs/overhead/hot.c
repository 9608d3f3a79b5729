/* SPDX-License-Identifier: Apache-2.0
 *
 * hot N - calls hot() N times, which calls leaf() 20,000 times: a tiny function
 * that has nearly all the time. Another thread naps 60 times for 5 ms, in
 * nap().
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned sink;

__attribute__((noinline)) void leaf(unsigned i)
{
	for (int k = 0; k < 30; k++)
		i = i * 1664525 + 1013904223;
	sink = i;
}

__attribute__((noinline)) void hot(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		leaf(i);
}

__attribute__((noinline)) void nap(void)
{
	struct timespec time = { .tv_nsec = 5000000 };

	while (nanosleep(&time, &time))
		;
}

__attribute__((noinline)) void *doze(void *unused)
{
	for (int i = 0; i < 60; i++)
		nap();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_create(&thread, NULL, doze, NULL);
	for (long i = atol(argv[1]); i; i--)
		hot(20000);
	pthread_join(thread, NULL);
	printf("%u\n", sink);
	return argc - 2;
}
