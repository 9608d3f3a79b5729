/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/calibrate.h"

#include <stdint.h>

#include "collector/clock_sync.h"
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
