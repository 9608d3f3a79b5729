/* SPDX-License-Identifier: Apache-2.0
 *
 * nest - threads that nest calls, many more than a small ring can take.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static _Thread_local volatile long calls;
__attribute__((noinline)) static void leaf(void)
{
	calls++;
}
__attribute__((noinline)) static void nest(int depth)
{
	leaf();
	if (depth)
		nest(depth - 1);
	leaf();
}
static void *run(void *context)
{
	struct timespec now, until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	(void)context;
	until.tv_sec++;
	for (int depth = 0;; depth = (depth + 7) % 200) {
		nest(depth);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > until.tv_sec ||
		    (now.tv_sec == until.tv_sec && now.tv_nsec > until.tv_nsec))
			return NULL;
	}
}
int main(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
