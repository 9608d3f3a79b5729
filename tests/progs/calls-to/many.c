// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>

#include "many.h"

long many_sum(int a, int b, int c, int d, int e, int f, int g, int h, int i,
	      int j, int k, int l, int m, int n, int o, int p, int q, int r,
	      int s, int t, int u, int v, int w, int x, int y, int z, int aa,
	      int bb, int cc, int dd)
{
	return a + 2 * b + c + d + e + f + g + h + i + j + k + l + m + n + o +
	       p + q + r + s + t + u + v + w + x + y + z + aa + bb + cc +
	       3L * dd;
}

long many_large(struct large large, int last)
{
	long sum = 0;

	for (int i = 0; i < LARGE; i++)
		sum += large.word[i] * i;
	return sum + last;
}

struct large many_back(long last)
{
	struct large large = { { 0 } };

	large.word[LARGE - 1] = last;
	return large;
}

double many_double(double a, double b, double c, double d, double e, double f,
		   double g, double h, double i)
{
	return a + b + c + d + e + f + g + h + i;
}

long double many_long(long double value)
{
	return value * 2;
}

long many_va(int count, ...)
{
	va_list list;
	long sum = 0;

	va_start(list, count);
	for (int i = 0; i < count; i++)
		sum += i * va_arg(list, long);
	va_end(list);
	return sum;
}
