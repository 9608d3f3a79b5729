/* SPDX-License-Identifier: Apache-2.0
 *
 * counters - sets counters often: "counters N ROUNDS THREADS [calls]". Each
 * thread sets N counters (at most 256) ROUNDS times, one after the other. One
 * in four is a double, one is the thread's own, one belongs to the process and
 * is incremental. With "calls" there is a call for each value. Difficult values
 * come first: NaN, infinities, the ends of int64_t. The times of the first
 * counter of "at" go back.
 */
#define PERFREC_CATEGORY "counters"
#include <limits.h>
#include <math.h>
#include <perfrec.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FOUR(n)                                                           \
	PERFREC_COUNTER(g_plain_##n, "plain " #n, PERFREC_COUNTS, 0);     \
	PERFREC_COUNTER(g_real_##n, "real " #n, "volts", PERFREC_DOUBLE); \
	PERFREC_COUNTER_TIMES(g_own_##n, "own " #n, "bytes",              \
			      PERFREC_PER_THREAD, 1024);                  \
	PERFREC_COUNTER(g_sum_##n, "sum " #n, PERFREC_COUNTS,             \
			PERFREC_INCREMENTAL | PERFREC_PER_THREAD);
#define LIST_FOUR(n) &g_plain_##n, &g_real_##n, &g_own_##n, &g_sum_##n,
#define X2(each, n) each(n##0) each(n##1)
#define X4(each, n) X2(each, n##0) X2(each, n##1)
#define X8(each, n) X4(each, n##0) X4(each, n##1)
#define X16(each, n) X8(each, n##0) X8(each, n##1)
#define X32(each, n) X16(each, n##0) X16(each, n##1)
#define ALL(each) X32(each, 0) X32(each, 1)

ALL(FOUR)
PERFREC_COUNTER(g_at, "at", PERFREC_COUNTS, 0);

static struct perfrec_counter *const g_counters[] = { ALL(LIST_FOUR) };
static int g_count, g_rounds;
static bool g_calls;

__attribute__((noinline, no_instrument_function)) static void set(int i,
								  long value)
{
	if (i % 4 == 1)
		PERFREC_COUNT(g_counters[i], (double)value / 8);
	else
		PERFREC_COUNT(g_counters[i], value);
}

__attribute__((noinline)) static void call(int i, long value)
{
	set(i, value);
}

__attribute__((no_instrument_function)) static void set_hard(void)
{
	static const double reals[] = { NAN, INFINITY, -INFINITY, -0.0,
					1e-310 };
	static const long whole[] = { LONG_MAX, LONG_MIN, -1, 0 };

	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++)
		PERFREC_COUNT(&g_real_000000, reals[i]);
	PERFREC_COUNT(&g_real_000001, reals[0]);
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		PERFREC_COUNT(&g_plain_000000, whole[i]);
}

__attribute__((no_instrument_function)) static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

__attribute__((no_instrument_function)) static void *work(void *argument)
{
	unsigned long state = (unsigned long)argument * 77 + 1;

	if (argument == (void *)1)
		set_hard();
	for (int round = 0; round < g_rounds; round++) {
		for (int i = 0; i < g_count; i++) {
			state = state * 6364136223846793005UL +
				1442695040888963UL;
			if (g_calls)
				call(i, (long)(state >> 54) - 512);
			else
				set(i, (long)(state >> 54) - 512);
		}
		if (argument == (void *)1 && round % 16 == 0)
			PERFREC_COUNT_AT(&g_at, round,
					 now_ns() - (long)(state >> 40));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	long count = argc > 3 ? atol(argv[3]) : 1;

	if (argc < 4 || count > 64 || atoi(argv[1]) > 256)
		return 2;
	g_count = atoi(argv[1]);
	g_rounds = atoi(argv[2]);
	g_calls = argc > 4;
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
			return 1;
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
