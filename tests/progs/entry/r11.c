/* SPDX-License-Identifier: Apache-2.0
 *
 * r11 COUNT - functions that leave, or are called, with a value in r11: by the
 * thunks of retpolines, and by calling conventions. Prints a sum.
 */
#include <stdio.h>
#include <stdlib.h>

#define OWN __attribute__((noinline))

static int g_calls;

OWN static int r_target(int x)
{
	g_calls++;
	return x + 1;
}

OWN static int r_other(int x)
{
	g_calls++;
	return x * 2;
}

OWN int r_many(int a, int b, int c, int d, int e, int f, ...)
{
	g_calls++;
	return a + b + c + d + e + f;
}

int (*volatile g_target)(int) = r_target;
int (*volatile g_maybe)(int);
int (*volatile g_table[2])(int) = { r_target, r_other };
int (*volatile g_many)(int, int, int, int, int, int, ...) = r_many;

OWN int r_tail(int x)
{
	g_calls += 2;
	return g_target(x);
}

/* Looks at the pointer before it jumps there. */
OWN int r_maybe(int x)
{
	int (*maybe)(int) = x % 2 ? g_maybe : g_target;

	return maybe ? maybe(x) : x;
}

OWN int r_table(int x)
{
	return g_table[x & 1](x);
}

/* The arguments take all their registers: the pointer lies in r11. */
OWN int r_full(int a, int b, int c, int d, int e, int f)
{
	int (*many)(int, int, int, int, int, int, ...) = g_many;

	g_calls++;
#if defined(__clang__)
	return many(a, b, c, d, e, f);
#else
	return __builtin_call_with_static_chain(many(a, b, c, d, e, f),
						(void *)&g_calls);
#endif
}

/* Keeps all registers of its caller, r11 too. */
OWN __attribute__((no_caller_saved_registers)) void r_keeps(void)
{
	long sum[8];

	for (int i = 0; i < 8; i++)
		sum[i] = g_calls * i;
	/* Changes them all. */
	__asm__ volatile(""
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
			   "r11");
	g_calls += 1 + (sum[7] < 0);
}

OWN long r_caller(long a, long b, long c, long d, long e, long f)
{
	long g = a * b, h = c * d, i = e * f, j = a + f;

	r_keeps();
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h +
	       9 * i + 10 * j;
}

#if defined(__clang__) && __has_attribute(preserve_none)
/* The eleventh argument lies in r11. */
#define MANY                                                            \
	long a, long b, long c, long d, long e, long f, long g, long h, \
		long i, long j, long k

OWN __attribute__((preserve_none)) long r_eleventh(MANY)
{
	g_calls++;
	return a + b + c + d + e + f + g + h + i + j + 9 * k;
}

OWN __attribute__((preserve_none)) long r_hand_on(MANY)
{
	__asm__ volatile("");
	return r_eleventh(a, b, c, d, e, f, g, h, i, j, k);
}

static long eleven(int i)
{
	return r_hand_on(i, 1, 2, 3, 4, 5, 6, 7, 8, 9, i);
}
#else
static long eleven(int i)
{
	return i;
}
#endif

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100;
	long sum = 0;

	for (int i = 0; i < count; i++)
		sum += r_tail(i) + r_maybe(i) + r_table(i) +
		       r_full(i, 1, 2, 3, 4, 5) + eleven(i) +
		       r_caller(i, 2, 3, 4, 5, i);
	printf("%ld %d\n", sum, g_calls);
	return 0;
}
