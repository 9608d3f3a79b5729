/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/calibrate.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "collector/clock_sync.h"
#include "collector/collect_options.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/record.h"
#include "shared/ring_shm.h"

#define CELLS 1024u
#define SPANS 10000
#define ROUNDS 10

struct target {
	uint64_t head;
	uint64_t (*clock)(void);
	struct record cells[CELLS];
};

/* What a hook does: a clock, a cell, a head. */
ATTR_NOINLINE static void put(struct target *target, enum record_kind kind,
			      uint64_t function)
{
	uint64_t head = target->head;
	struct record *cell = &target->cells[head % CELLS];

	cell->word = record_word(kind, function,
				 (uintptr_t)__builtin_frame_address(0));
	cell->clock = target->clock ? target->clock() : clock_ticks();
	/* order: rel, HEAD: as in the hook; nobody reads it here */
	atom_store_rel(&target->head, head + 1);
}

double calibrate_span_ns(bool ticks)
{
	static struct target target;
	uint64_t least = UINT64_MAX;
	int round, i;

	target.clock = ticks ? NULL : clock_boottime_ns;
	for (round = 0; round < ROUNDS; round++) {
		uint64_t start = clock_boottime_ns();

		for (i = 0; i < SPANS; i++) {
			put(&target, RECORD_BEGIN, 1);
			put(&target, RECORD_END, 1);
		}
		least = MIN(least, clock_boottime_ns() - start);
	}
	return (double)least / SPANS;
}

#define SAMPLES 50

static char g_stack[STACK_BYTES_MAX];
static volatile uint32_t g_stack_bytes;

static void take_sample(int number)
{
	static char copy[STACK_BYTES_MAX];

	(void)number;
	memcpy(copy, g_stack, MIN(g_stack_bytes, sizeof(copy)));
	__asm__ volatile("" : : "r"(copy) : "memory");
}

double calibrate_sample_ns(uint32_t stack_bytes)
{
	struct sigaction sample = { .sa_handler = take_sample }, before;
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	uint64_t least = UINT64_MAX;
	int round, i;

	g_stack_bytes = stack_bytes;
	if (sigaction(SIGPROF, &sample, &before) < 0)
		return 0;
	for (round = 0; round < ROUNDS; round++) {
		uint64_t start = clock_boottime_ns();

		for (i = 0; i < SAMPLES; i++)
			raise(SIGPROF);
		least = MIN(least, clock_boottime_ns() - start);
	}
	/* Takes away what is pending, should it have been blocked. */
	sigaction(SIGPROF, &ignore, NULL);
	sigaction(SIGPROF, &before, NULL);
	return (double)least / SAMPLES;
}
