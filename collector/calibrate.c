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
#include "shared/ring_put.h"
#include "shared/ring_shm.h"

#define CELLS 1024u
#define SPANS 10000
#define ROUNDS 10

/* What the loops below leave out of the general path costs as much again, of a
 * span, and half as much, of a hook that leaves one out: held against the CPU
 * time of programs (docs/BENCHMARKS.md). */
#define GENERAL_SPAN 2.1
#define GENERAL_HOOK 1.5

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

/* put(), as hooks do it that may not take the fast path. */
ATTR_NOINLINE static void put_carefully(struct slot_shm *slot,
					struct record *cells,
					enum record_kind kind,
					uint64_t (*clock)(void))
{
	struct ring_put put;
	uint64_t word =
		record_word(kind, 1, (uintptr_t)__builtin_frame_address(0));

	if (ring_put_begin(slot, cells, CELLS - 1, &put))
		ring_put_commit(slot, cells, CELLS - 1, &put,
				(struct record){ word, clock() });
}

double calibrate_general_ns(bool ticks)
{
	static struct record cells[CELLS];
	static struct slot_shm slot;
	uint64_t (*clock)(void) = ticks ? clock_ticks : clock_boottime_ns;
	uint64_t least = UINT64_MAX;
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		uint64_t start = clock_boottime_ns();

		for (i = 0; i < SPANS; i++) {
			put_carefully(&slot, cells, RECORD_BEGIN, clock);
			put_carefully(&slot, cells, RECORD_END, clock);
		}
		least = MIN(least, clock_boottime_ns() - start);
	}
	return GENERAL_SPAN * (double)least / SPANS;
}

/* What hooks do that record nothing, as nearly as this process can. */

#define ENTRIES 64 /* of a table, and of a stack */
#define HASH 0x9e3779b97f4a7c15ULL

struct unrecorded {
	volatile uint64_t gate, epoch, in_vfork, aborts;
	volatile uint64_t count, least, over, hooks;
	volatile struct {
		uint64_t function, sp;
	} open[ENTRIES];
	volatile uint64_t table[ENTRIES];
};

/* Found in the filter table: a gate, a probe, a count. */
ATTR_NOINLINE static void exclude(struct unrecorded *target, uint64_t function)
{
	if (target->gate && target->table[function * HASH >> 58] == function)
		target->hooks++;
}

ATTR_NOINLINE static bool enter(struct unrecorded *target, uint64_t function,
				uintptr_t sp)
{
	uint64_t at = target->count;

	if (target->over ||
	    (int16_t)((target->open[at - 1].sp & RECORD_SP_MASK) -
		      (sp & RECORD_SP_MASK)) < 0)
		return true;
	at = target->count;
	target->count = at + 1;
	target->open[at].sp = sp;
	target->open[at].function = function;
	return at < target->gate;
}

ATTR_NOINLINE static bool leave(struct unrecorded *target, uint64_t function)
{
	uint64_t end = target->count, at = end;
	bool recorded;

	if (target->over)
		return true;
	while (at && (target->open[at - 1].function & INT64_MAX) != function)
		at--;
	recorded =
		at - 1 < target->gate && !(target->open[at - 1].function >> 63);
	if (target->count > at - 1)
		target->over = 0;
	while (target->count > at - 1) {
		uint64_t left = target->count - 1;

		target->open[left].function = 0;
		if (target->least > left)
			target->least = left;
		target->count = left;
	}
	return recorded;
}

/* As hook_general() and what it calls. */
ATTR_NOINLINE static bool may_record(struct unrecorded *target)
{
	return target->gate && !target->over && target->gate == target->epoch &&
	       !target->in_vfork;
}

ATTR_NOINLINE static bool admits(struct unrecorded *target, uint64_t word,
				 uintptr_t sp)
{
	uint64_t function = record_payload(word);

	if (function < target->gate)
		return true;
	return record_kind(word) == RECORD_BEGIN ? enter(target, function, sp)
						 : leave(target, function);
}

/* Too deep: a gate, the thread's state, a stack, a count. */
ATTR_NOINLINE static void leave_out(struct unrecorded *target,
				    enum record_kind kind, uint64_t function)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);

	if (!may_record(target))
		return;
	target->aborts = 0;
	if (!admits(target, record_word(kind, function, sp), sp))
		target->hooks++;
}

static double least_of(struct unrecorded *target, bool excluded)
{
	uint64_t least = UINT64_MAX;
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		uint64_t start = clock_boottime_ns();

		for (i = 0; i < SPANS; i++) {
			if (excluded) {
				exclude(target, 1);
				exclude(target, 1);
			} else {
				leave_out(target, RECORD_BEGIN, 2);
				leave_out(target, RECORD_END, 2);
			}
		}
		least = MIN(least, clock_boottime_ns() - start);
	}
	return (double)least / (2.0 * SPANS);
}

struct calibrated_hooks calibrate_hooks(void)
{
	static struct unrecorded target;

	target.gate = target.epoch = target.count = target.least = 1;
	target.open[0].sp = (uintptr_t)__builtin_frame_address(0);
	target.table[HASH >> 58] = 1;
	return (struct calibrated_hooks){
		.excluded_ns = least_of(&target, true),
		.left_out_ns = GENERAL_HOOK * least_of(&target, false),
	};
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
