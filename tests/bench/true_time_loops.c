/* SPDX-License-Identifier: Apache-2.0
 *
 * true_time_loops - functions of known size that call each other: about 1 ns,
 * 10 ns, 100 ns, 1 us and 10 us of their own. Each calls the next smaller one
 * some times (true_time.sh).
 *
 * usage: true_time_loops ROUNDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t g_state = 1;

/* A chain of multiplications: about 1 ns each, and no two at once. */
static inline __attribute__((always_inline)) void turn(int times)
{
	uint64_t x = g_state;

	for (int i = 0; i < times; i++)
		x = x * 6364136223846793005u + 1;
	g_state = x;
}

__attribute__((noinline, noclone)) static void of_1ns(void)
{
	turn(1);
}

__attribute__((noinline, noclone)) static void of_10ns(void)
{
	turn(10);
	of_1ns();
}

__attribute__((noinline, noclone)) static void of_100ns(void)
{
	turn(100);
	for (int i = 0; i < 3; i++)
		of_10ns();
}

__attribute__((noinline, noclone)) static void of_1us(void)
{
	turn(1000);
	for (int i = 0; i < 5; i++)
		of_100ns();
}

__attribute__((noinline, noclone)) static void of_10us(void)
{
	turn(10000);
	for (int i = 0; i < 8; i++)
		of_1us();
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < rounds; i++)
		of_10us();
	printf("%llu\n", (unsigned long long)g_state);
	return 0;
}
