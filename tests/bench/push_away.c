/* SPDX-License-Identifier: Apache-2.0
 *
 * The program of push_away.py: does the same work in each hundredth of a second,
 * for as many seconds as its argument says: calls, allocations, CPU time.
 */
#include <stdlib.h>
#include <unistd.h>

#define SLICES 100
#define CALLS 200
#define PAUSE_US 8000

static void *volatile g_last;
static volatile unsigned int g_sum;

static void __attribute__((noinline)) add(unsigned int number)
{
	for (unsigned int i = 0; i < 20000; i++)
		g_sum += i * number;
}

static void __attribute__((noinline)) store(void)
{
	free(g_last);
	g_last = malloc(100);
}

int main(int argc, char **argv)
{
	const long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;

	for (long i = 0; i < seconds * SLICES; i++) {
		for (unsigned int k = 0; k < CALLS; k++)
			add(k);
		store();
		usleep(PAUSE_US);
	}
	return 0;
}
