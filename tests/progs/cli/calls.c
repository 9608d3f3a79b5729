/* SPDX-License-Identifier: Apache-2.0
 *
 * calls N [EXIT STATUS] - calls leaf() N times from work() and prints the sum.
 */
#include <stdio.h>
#include <stdlib.h>

static volatile long sum;

__attribute__((noinline)) static void leaf(long i)
{
	sum += i;
}

__attribute__((noinline)) static void work(long n)
{
	for (long i = 0; i < n; i++)
		leaf(i);
}

int main(int argc, char **argv)
{
	work(argc > 1 ? atol(argv[1]) : 1000);
	printf("%ld\n", sum);
	return argc > 2 ? atoi(argv[2]) : 0;
}
