/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments and results of all classes, tail calls and variable arguments: a
 * thunk at the start or the end of a function must not change them. Prints sums
 * of the values, which are the same for each kind of build.
 *
 *	values ROUNDS
 *
 * tests/e2e/cc/entry-flow.sh knows how often each function is called.
 */
#include <complex.h>
#include <immintrin.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN __attribute__((noinline, noclone))
#define HIDE(x) __asm__ volatile("" : "+m"(x))

typedef struct {
	long a, b, c;
} large;
typedef struct {
	double x;
	long y;
} mixed;

static OWN long v_integers(long a, int b, char c, long d, short e, long f,
			   long g, int h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

static OWN double v_doubles(double a, float b, double c, double d, double e,
			    double f, double g, double h, double i)
{
	return a - b + c * d - e + f / g - h * i;
}

static OWN long double v_long_double(long double a, int b, long double c)
{
	return a * b - c;
}

static OWN _Complex long double v_complex(_Complex long double z, long double y)
{
	return z * y + 1;
}

static OWN _Complex double v_complex_double(_Complex double z)
{
	return z * 2.0 + I;
}

static OWN __int128 v_wide(__int128 a, __int128 b)
{
	return a * b + 1;
}

static OWN large v_large(large one, long by)
{
	one.a += by;
	one.b *= by;
	one.c -= by;
	return one;
}

static OWN mixed v_mixed(mixed one)
{
	return (mixed){ one.x * 2, one.y + 1 };
}

static OWN __m128 v_vector(__m128 a, __m128 b, __m128 c, __m128 d)
{
	return _mm_sub_ps(_mm_add_ps(a, b), _mm_mul_ps(c, d));
}

#ifdef __AVX__
static OWN __m256d v_vector_256(__m256d a, __m256d b, __m256d c)
{
	return _mm256_add_pd(_mm256_mul_pd(a, b), c);
}
#endif

static OWN double v_varargs(int count, ...)
{
	double sum = 0;
	va_list list;

	va_start(list, count);
	for (int i = 0; i < count; i++)
		sum += i % 3 == 0   ? va_arg(list, double)
		       : i % 3 == 1 ? (double)va_arg(list, long)
				    : (double)va_arg(list, long double);
	va_end(list);
	return sum;
}

/* A tail call with all registers of arguments in use; also by a pointer. */
static long (*volatile g_pointer)(long, long, long, long, long, long);

static OWN long v_tail_end(long a, long b, long c, long d, long e, long f)
{
	return a ^ (b << 1) ^ (c << 2) ^ (d << 3) ^ (e << 4) ^ (f << 5);
}

static OWN long v_tail_pointer(long a, long b, long c, long d, long e, long f)
{
	return g_pointer(b, a, d, c, f, e);
}

static OWN long v_tail(long a, long b, long c, long d, long e, long f)
{
	HIDE(a);
	return v_tail_pointer(f, e, d, c, b, a);
}

static OWN double v_tail_doubles(double a, double b)
{
	return v_doubles(b, (float)a, a, b, 1, 2, 3, 4, 5);
}

static OWN int v_tail_varargs(char *out, size_t size, const char *text,
			      double x)
{
	return snprintf(out, size, "%s %.3f %.3f", text, x, x * 2);
}

static jmp_buf g_jump;

static OWN void v_jump(long n)
{
	if (n % 2)
		longjmp(g_jump, (int)(n % 7) + 1);
}

static OWN long v_jump_back(long n)
{
	volatile long seen = n;
	int value = setjmp(g_jump);

	if (value)
		return seen + value;
	v_jump(n);
	return seen;
}

static OWN long v_recursion(long n)
{
	return n <= 0 ? 1 : n + v_recursion(n - 1) % 1000;
}

static OWN long v_switch(long n)
{
	switch (n % 6) {
	case 0:
		return n + 10;
	case 1:
		return n * 11;
	case 2:
		return n * 3;
	case 3:
		return n ^ 13;
	case 4:
		return -n;
	default:
		return n % 17;
	}
}

static double g_sum;

static OWN void round_of(long n)
{
	_Complex long double z = v_complex(n + 2.0L * I, 3.0L);
	_Complex double y = v_complex_double((double)n + I);
	large one = v_large((large){ n, n + 1, n + 2 }, n % 5);
	mixed two = v_mixed((mixed){ (double)n, n });
	__m128 v = v_vector(_mm_set1_ps((float)(n % 100)), _mm_set1_ps(2),
			    _mm_set1_ps(3), _mm_set1_ps(4));
	char text[64];

	g_sum += (double)v_integers(n, 1, 2, 3, 4, 5, 6, 7);
	g_sum += v_doubles((double)n, 1, 2, 3, 4, 5, 6, 7, 8);
	g_sum += (double)v_long_double((long double)n, 2, 3.5L);
	g_sum += (double)(creall(z) + cimagl(z)) + creal(y) + cimag(y);
	g_sum += (double)v_wide(n, 7) + (double)(one.a + one.b + one.c);
	g_sum += two.x + (double)two.y + (double)_mm_cvtss_f32(v);
#ifdef __AVX__
	g_sum += v_vector_256(_mm256_set1_pd((double)n), _mm256_set1_pd(2),
			      _mm256_set1_pd(3))[3];
#endif
	g_sum += v_varargs(4, 1.5, n, 2.5L, 3.5);
	g_sum += (double)(v_tail(n, 2, 3, 4, 5, 6) % 1000);
	g_sum += v_tail_doubles((double)n, 3);
	g_sum += v_tail_varargs(text, sizeof(text), "text", (double)(n % 10));
	g_sum += text[6];
	g_sum += (double)v_jump_back(n);
	g_sum += (double)(v_recursion(n % 3) + v_switch(n));
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100;

	g_pointer = v_tail_end;
	for (long n = 0; n < rounds; n++)
		round_of(n);
	printf("%.6f\n", g_sum);
	return 0;
}
