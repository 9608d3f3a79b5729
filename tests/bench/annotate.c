/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate - the cost of an annotation in ns, beside the floor of a span: two
 * calls to another library's function that read the clock and store 16 bytes
 * each (here: through a pointer that the compiler does not know).
 *
 * usage: annotate [paused]
 *
 * Measures each kind in bursts that fit into a quarter of a ring, with pauses
 * for a collector to empty it, all kinds alternately. Prints the median of the
 * bursts, less the cost of the loop: "KIND ns".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/clock.h"
#include "preload/perfrec.h"
#include "shared/compiler.h"
#include "shared/ticks.h"

#define BURSTS 151
#define EVENTS 4000 /* of at most 7 cells: a span with 3 arguments */
#define FLOOR_RECORDS (1u << 18)

struct floor_record {
	uint64_t what, clock;
};

static struct floor_record g_floor[FLOOR_RECORDS];
static uint64_t g_floor_head;

__attribute__((noipa)) static void floor_hook(void *function)
{
	struct floor_record *record = &g_floor[g_floor_head % FLOOR_RECORDS];

	record->what = (uint64_t)(uintptr_t)function << 16 | 1;
	record->clock = ticks_now();
	g_floor_head++;
}

static void (*volatile g_hook)(void *) = floor_hook;

PERFREC_COUNTER(g_counter, "counter", PERFREC_COUNTS, 0);

#define KINDS(KIND)                                                           \
	KIND(empty, (void)0)                                                  \
	KIND(floor, g_hook(&g_floor); g_hook(&g_floor))                       \
	KIND(span, PERFREC_SCOPE("span"))                                     \
	KIND(span_1_argument, PERFREC_SCOPE("one", "a", i))                   \
	KIND(span_3_arguments,                                                \
	     PERFREC_SCOPE("three", "a", i, "b", i + 1, "c", i + 2))          \
	KIND(span_1_text, PERFREC_SCOPE("text", "a", "twenty characters ..")) \
	KIND(instant, PERFREC_INSTANT("instant"))                             \
	KIND(counter_value, PERFREC_COUNT(&g_counter, i))                     \
	KIND(async_begin_end,                                                 \
	     PERFREC_ASYNC_BEGIN(PERFREC_PROCESS_TRACK, 1, "a");              \
	     PERFREC_ASYNC_END(PERFREC_PROCESS_TRACK, 1, "a"))                \
	KIND(async_enter_leave,                                               \
	     PERFREC_ASYNC_ENTER(PERFREC_PROCESS_TRACK, 2, "in");             \
	     PERFREC_ASYNC_LEAVE(PERFREC_PROCESS_TRACK, 2, "in"))             \
	KIND(async_scope, PERFREC_ASYNC_SCOPE(PERFREC_PROCESS_TRACK, 2, "in"))

#define FUNCTION(name, statement)                                 \
	__attribute__((noipa)) static void run_##name(uint64_t n) \
	{                                                         \
		uint64_t i;                                       \
                                                                  \
		for (i = 0; i < n; i++) {                         \
			statement;                                \
			__asm__ volatile("" : : : "memory");      \
		}                                                 \
	}
KINDS(FUNCTION)

#define ENTRY(name, statement) { #name, run_##name, { 0 } },
static struct kind {
	const char *name;
	void (*run)(uint64_t n);
	double ns[BURSTS];
} g_kinds[] = { KINDS(ENTRY) };

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(struct kind *kind)
{
	qsort(kind->ns, BURSTS, sizeof(kind->ns[0]), by_size);
	return kind->ns[BURSTS / 2];
}

static void burst(struct kind *kind, int i)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	uint64_t start;

	nanosleep(&pause, NULL);
	kind->run(EVENTS / 8); /* back from the pause */
	start = clock_ns(CLOCK_MONOTONIC);
	kind->run(EVENTS);
	kind->ns[i] = (double)(clock_ns(CLOCK_MONOTONIC) - start) / EVENTS;
}

int main(int argc, char **argv)
{
	double base;
	size_t k;
	int i;

	if (argc > 1 && !strcmp(argv[1], "paused"))
		perfrec_pause();
	PERFREC_ASYNC_BEGIN(PERFREC_PROCESS_TRACK, 2, "entered");
	memset(g_floor, 1, sizeof(g_floor));
	for (i = -20; i < BURSTS; i++)
		for (k = 0; k < ARRAY_SIZE(g_kinds); k++)
			burst(&g_kinds[k], MAX(i, 0));
	base = median(&g_kinds[0]);
	for (k = 1; k < ARRAY_SIZE(g_kinds); k++)
		printf("%s %.2f\n", g_kinds[k].name,
		       median(&g_kinds[k]) - base);
	return 0;
}
