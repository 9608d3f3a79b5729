/* SPDX-License-Identifier: Apache-2.0
 *
 * places - spins at the end of a stack with recursion, a callback of the C
 * library, a function of a library (bare.c of gdb-stacks.sh) and a handler.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int bare(int (*call)(int), int n);
static volatile long sum;
__attribute__((noinline)) long spin(long n)
{
	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}
static void handler(int number)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 2;
	while (clock() < end)
		spin(2000000 + number);
}
__attribute__((noinline)) int in_bare(int n)
{
	raise(SIGUSR1);
	return n + (int)sum;
}
static int compare(const void *a, const void *b)
{
	static int once;
	if (!once++)
		sum += bare(in_bare, 3);
	return *(const char *)a - *(const char *)b;
}
__attribute__((noinline)) int recurse(int n)
{
	char text[] = "cba";
	if (n)
		return recurse(n - 1) + 1;
	qsort(text, 3, 1, compare);
	return text[0];
}
int main(void)
{
	signal(SIGUSR1, handler);
	printf("%d\n", recurse(5));
	return 0;
}
