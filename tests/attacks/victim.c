/* SPDX-License-Identifier: Apache-2.0
 *
 * victim ROUNDS - an honest program, compiled with hooks: in each round 1 call
 * of one_round(), CALLS of busy() and BLOCKS of with_block(), with a block
 * allocated in each of these, about 0.3 ms of work in all.
 */
#include <stdio.h>
#include <stdlib.h>

#define CALLS 1000
#define BLOCKS 20
#define WORK 500

static unsigned int g_sum;

/* WORK additions, one after another, in a register: what a word of memory would
 * cost differs by a factor of seven between CPUs. */
__attribute__((noinline)) void busy(unsigned int i)
{
	unsigned int sum = g_sum;

	for (unsigned int k = 0; k < WORK; k++) {
		sum += i ^ k;
		__asm__ volatile("" : "+r"(sum));
	}
	g_sum = sum;
}

__attribute__((noinline)) void with_block(unsigned int i)
{
	volatile char *block = malloc(i % 300 + 1);

	if (block)
		block[0] = (char)i;
	free((void *)block);
}

__attribute__((noinline)) void one_round(void)
{
	for (unsigned int i = 0; i < CALLS; i++)
		busy(i);
	for (unsigned int i = 0; i < BLOCKS; i++)
		with_block(i);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < rounds; i++)
		one_round();
	printf("%u\n", g_sum);
	return 7;
}
