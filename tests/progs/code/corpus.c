/* SPDX-License-Identifier: Apache-2.0
 *
 * corpus - code of many shapes, for tests/e2e/code: inlined functions whose
 * ends compilers merge, switches with tables, computed gotos, cold parts, tail
 * calls, calls that never return, longjmp, large frames, many arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf g_back;
static volatile int g_sink;

static int square(int x)
{
	return x * x;
}

static int cube(int x)
{
	return x * square(x);
}

static int twice(int x)
{
	g_sink += x;
	return 2 * x;
}

static int thrice(int x)
{
	g_sink += x;
	return 3 * x;
}

/* Both ends are alike: one call of the hook may stand for both. */
static int either(int x)
{
	return x & 1 ? twice(x) : thrice(x);
}

int choose(int x)
{
	switch (x) {
	case 0:
		return cube(x + 1);
	case 1:
		return square(x) + 3;
	case 2:
		return (int)strlen("two");
	case 3:
		return cube(x) + 7;
	case 4:
		return either(x) + 9;
	case 5:
		return either(x + 1) * 11;
	case 6:
		return 99 - x * x * x;
	case 17:
		return twice(x);
	default:
		return thrice(x);
	}
}

static int interpret(const unsigned char *code)
{
	static const void *const table[] = { &&add, &&dup, &&neg, &&end };
	int value = 1;

	goto *table[*code++ & 3];
add:
	value += square(value);
	goto *table[*code++ & 3];
dup:
	value += either(value);
	goto *table[*code++ & 3];
neg:
	value = -value;
	goto *table[*code++ & 3];
end:
	return value;
}

__attribute__((noinline, noreturn)) static void fail(const char *text)
{
	printf("fail %s\n", text);
	longjmp(g_back, 1);
}

__attribute__((noinline)) static int check(int x)
{
	if (x == 7)
		fail("seven");
	if (x == 8) {
		fputs("eight\n", stdout);
		fail("eight");
	}
	return choose(x);
}

__attribute__((noinline)) static int rare(int x)
{
	if (__builtin_expect(x > 9, 0)) {
		printf("cold %d\n", x);
		for (int i = 0; i < x; i++)
			g_sink += either(i);
		return cube(x);
	}
	return square(x);
}

__attribute__((noinline)) int tail(int x)
{
	if (x > 5)
		return rare(x);
	return check(x);
}

int recurse(int x)
{
	if (x < 2)
		return 1;
	return recurse(x - 1) + recurse(x - 2);
}

static long many(int a, long b, int c, long d, int e, long f, int g, long h)
{
	return a + b * c + d * e + f * g + h;
}

static int sum(int count, ...)
{
	va_list list;
	int all = 0;

	va_start(list, count);
	while (count--)
		all += va_arg(list, int);
	va_end(list);
	return all;
}

__attribute__((noinline)) static double large(int x)
{
	volatile char buffer[9000];
	double weights[8] __attribute__((aligned(64)));

	for (int i = 0; i < 8; i++)
		weights[i] = x * 0.5 + square(i);
	buffer[x * 100] = (char)cube(x);
	return weights[x & 7] + buffer[x * 100];
}

/* The frame grows while it runs. */
__attribute__((noinline)) static int grows(int x)
{
	char *more = __builtin_alloca((size_t)x * 16 + 1);

	memset(more, either(x), (size_t)x * 16 + 1);
	return more[x];
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int (*const g_calls[])(int) = { square, cube, recurse, tail };

int main(void)
{
	int list[] = { 5, 3, 9, 1 };
	int all = 0;

	for (int i = 0; i < 18; i++) {
		if (setjmp(g_back)) {
			all++;
			continue;
		}
		all += tail(i) + recurse(i % 5) + choose(i) + grows(i);
		all += check(i) + rare(i) + g_calls[i & 3](i % 6);
		all += (int)large(i) + (int)many(i, 2, 3, 4, 5, 6, 7, 8);
	}
	qsort(list, 4, sizeof(*list), compare);
	all += interpret((const unsigned char *)"\0\1\2\0\1\3");
	printf("%d %d %d\n", all, list[0], sum(3, 1, 2, 3));
	return 0;
}
