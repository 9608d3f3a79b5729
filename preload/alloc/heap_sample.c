/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/alloc/heap_sample.h"

#include "preload/alloc/poisson.h"
#include "preload/core/gate.h"
#include "preload/core/sys.h"
#include "preload/core/thread_context.h"
#include "preload/ring/put_run.h"
#include "shared/atomic.h"
#include "shared/hash.h"
#include "shared/ticks.h"

/* Number of stacks recorded at each level. At the top level the mean distance
 * is 32 bytes instead of the usual 512 KiB; it doubles at each level below. */
#define LEVEL_TOP 14u
#define LEVEL_FULL 5u
#define STACKS_FIRST 16u /* per level above LEVEL_FULL */
#define STACKS_FULL 64u
#define STACKS_BELOW_TOP ((LEVEL_TOP - LEVEL_FULL) * STACKS_FIRST)
#define STACKS_MORE_OFTEN (STACKS_BELOW_TOP + LEVEL_FULL * STACKS_FULL)

#define SAMPLE_CELLS (sizeof(struct record_sample) / sizeof(struct record))

/* The record in the ring; the copied part of the stack follows. */
struct sample_run {
	struct record head;
	struct record_sample sample;
};

_Static_assert(sizeof(struct sample_run) % sizeof(struct record) == 0,
	       "whole cells");

static struct {
	uint64_t period; /* mean bytes between samples; 0: no samples */
	uint32_t stack_bytes; /* most bytes to copy of a stack */
	uint32_t stacks; /* EXACT: number copied so far */
} g_heap_sample;

void heap_sample_start(uint64_t period, uint32_t stack_bytes, bool is_sampled)
{
	g_heap_sample.stack_bytes = stack_bytes;
	g_heap_sample.period = is_sampled ? MAX(period, (uint64_t)1) : period;
	if (is_sampled)
		heap_live_init();
}

/* Seeds the thread's generator: each thread draws its own distances. */
static void seed_thread(void)
{
	uint64_t mixed = (ticks_now() ^ (uintptr_t)&t_alloc) * HASH_MULTIPLIER;

	if (!g_shim.no_syscalls)
		mixed ^= (uint64_t)sys(SYS_gettid) << 32;
	t_alloc.random = mixed ? mixed : 1;
}

/* For put_run.cut: only @behind_cells of the stack were readable. */
static void stack_is_cut(struct record *cells, uint64_t behind_cells)
{
	struct sample_run *run = (struct sample_run *)cells;
	uint32_t bytes = (uint32_t)(behind_cells * sizeof(struct record));

	if (bytes < run->sample.stack_bytes)
		run->sample.flags &= ~(uint32_t)SAMPLE_STACK_CUT;
	if (!bytes)
		run->sample.flags |= SAMPLE_NO_STACK;
	run->sample.stack_bytes = bytes;
	run->head.word = record_ext_word(
		record_ext(run->head.word),
		(uint32_t)(SAMPLE_CELLS + behind_cells),
		record_ext_value(run->head.word), run->head.word);
}

/* Returns the most bytes to copy above @sp; *@flags says if more may follow. */
static uint32_t stack_bytes(uintptr_t sp, uint32_t *flags)
{
	uint64_t room = (record_run_max(g_shim.ring_cells) - 1 - SAMPLE_CELLS) *
			sizeof(struct record);
	uint64_t bytes = MIN((uint64_t)g_heap_sample.stack_bytes, room);
	uintptr_t top = (uintptr_t)__builtin_thread_pointer();

	*flags = SAMPLE_STACK_CUT;
	/* A thread's own data lies above its stack. */
	if (sp < top && top - sp < bytes) {
		bytes = top - sp;
		*flags = 0;
	}
	return (uint32_t)(bytes & ~(sizeof(struct record) - 1));
}

static bool put_sample(uint32_t site, struct sample_run *run,
		       enum put_class class)
{
	uintptr_t sp = run->sample.reg[RECORD_REG_SP];
	struct put_run put = {
		.cells = &run->head,
		.count = 1 + SAMPLE_CELLS,
		.behind = (const void *)sp,
	};
	uint32_t flags = SAMPLE_NO_STACK;

	if (!g_shim.no_syscalls) {
		run->sample.stack_bytes = stack_bytes(sp, &flags);
		put.behind_cells =
			run->sample.stack_bytes / sizeof(struct record);
		put.cut = stack_is_cut;
	}
	run->sample.flags |= flags;
	run->head.word = record_ext_word(
		EXT_ALLOC_SAMPLE, (uint32_t)(SAMPLE_CELLS + put.behind_cells),
		site, sp);
	return put_run_of(&put, class, sp, run->sample.reg[RECORD_REG_IP]);
}

/* Draws the distance to the next sample point. The place of the last one in its
 * block is irrelevant: the process is memoryless (poisson.h). */
static void draw_distance(uint32_t level)
{
	uint64_t period = MAX(g_heap_sample.period >> level, (uint64_t)1);

	t_alloc.left = poisson_distance(period, &t_alloc.random);
	t_alloc.level = level;
}

/* Returns true if the passed sample point was drawn. A thread's first is not:
 * then draws it, and returns true if it was passed. */
static bool is_drawn(uint32_t level)
{
	int64_t left = t_alloc.left;

	if (t_alloc.random)
		return true;
	seed_thread();
	draw_distance(level);
	t_alloc.left += left;
	return t_alloc.left < 0;
}

void heap_sample_take(uint32_t site, const void *block, uint64_t size,
		      const struct alloc_caller *caller)
{
	uint64_t key = heap_sample_key(site, block);
	struct sample_run run = {
		.sample = { .weight = 1,
			    .address = (uintptr_t)block,
			    .size = size },
	};

	if (!is_drawn(0))
		return;
	draw_distance(0);
	__builtin_memcpy(run.sample.reg, caller->reg, sizeof(caller->reg));
	thread_context_read(&run.sample.request);
	if (heap_live_add(key))
		run.sample.flags = SAMPLE_LIVE;
	/* With --on-full block it waits for room. */
	if (!put_sample(site, &run, PUT_ALLOC) &&
	    run.sample.flags & SAMPLE_LIVE)
		heap_live_remove(key);
}

/* The first stacks are recorded more often: a program with 200 small blocks has
 * a dozen, one with 10 MiB hundreds. */
static uint32_t level_now(void)
{
	/* relaxed: a count */
	uint32_t stacks = atom_load_rlx(&g_heap_sample.stacks);

	if (stacks < STACKS_BELOW_TOP)
		return LEVEL_TOP - stacks / STACKS_FIRST;
	if (stacks < STACKS_MORE_OFTEN)
		return LEVEL_FULL - (stacks - STACKS_BELOW_TOP) / STACKS_FULL;
	return 0;
}

void heap_sample_stack(const void *block, uint64_t size,
		       const struct alloc_caller *caller)
{
	struct sample_run run = {
		.sample = { .address = (uintptr_t)block, .size = size },
	};

	if (!g_heap_sample.period) {
		t_alloc.left = INT64_MAX;
		return;
	}
	if (!is_drawn(level_now()))
		return;
	run.sample.weight = 1ULL << t_alloc.level;
	/* relaxed: a count; it may be off by one per thread */
	if (atom_load_rlx(&g_heap_sample.stacks) < STACKS_MORE_OFTEN)
		atom_add_rlx(&g_heap_sample.stacks, 1); /* relaxed: the same */
	draw_distance(level_now());
	__builtin_memcpy(run.sample.reg, caller->reg, sizeof(caller->reg));
	(void)put_sample(0, &run, PUT_STACK);
}

void heap_sample_forked(void)
{
	/* relaxed: a count */
	atom_store_rlx(&g_heap_sample.stacks, 0);
	t_alloc.random = 0;
	t_alloc.left = 0;
}

void heap_sample_put_free(uint32_t site, const void *block, const void *caller)
{
	if (site)
		alloc_put_report_free(site, block, caller);
	else
		alloc_put_free(block, caller);
}
