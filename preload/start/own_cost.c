/* SPDX-License-Identifier: Apache-2.0
 *
 * own_cost - times the hooks and wrappers. This file is not in the shim but in
 * a copy of its code inside the collector (Makefile). Nothing starts that copy:
 * set_up() sets the gate, the only slot is g_slot, and libc may be called
 * normally.
 *
 * A round makes fewer records than the ring has cells. After a round all cells
 * are marked as read.
 */
#include "shared/own_cost.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/rseq.h>
#include <time.h>
#include <unistd.h>

#include "preload/alloc/alloc_wrap.h"
#include "preload/annotate/annotate.h"
#include "preload/core/clock.h"
#include "preload/core/count.h"
#include "preload/core/gate.h"
#include "preload/core/thread.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ticks.h"

#define CELLS 16384u
#define PAIRS 402 /* a multiple of 3 */
#define ROUNDS 60
#define EPOCH ((1ULL << GATE_NEWS_SHIFT) + GATE_EPOCH_STEP)
/* Lower than any function, and above all annotations. */
#define OUTER ((void *)0x200000)
#define INNER ((void *)0x300000)
#define TABLE 2u /* entries */
#define TABLE_SHIFT 63u
/* Bytes to the next sample point, never reached. */
#define NEVER INT64_MAX

typedef void hook(void *function, void *call_site);

hook __cyg_profile_func_enter, __cyg_profile_func_exit;

/* Functions for a loop: the shim's, or those of a program without it. */
struct hooks {
	void *outer;
	hook *enter, *exit;
	void *(*malloc)(size_t size);
	void (*free)(void *block);
};

typedef void loop_fn(const struct hooks *hooks);

static struct page_shm g_page;
static struct slot_shm g_slot;
static struct liveness_shm g_liveness;
static struct record g_cells[CELLS];
static struct span_stack g_withheld;
static struct depth_stack g_depth;
static uint64_t g_table[TABLE];
static uint16_t g_numbers[TABLE];
static struct count_cell g_counts[1];
static const char *const g_keys[] = { "a", "b", "c" };
static struct perfrec_site g_site = { .id = 1, .keys = g_keys };
static char g_stack[1 << 16];
static volatile uint64_t g_sum;
static struct block {
	struct block *next;
	char bytes[56];
} g_block;
static struct block *volatile g_free;
static volatile uint64_t g_free_count;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool find_rseq(void)
{
	const char *thread = __builtin_thread_pointer();
	const char *state = (const char *)&t_thread;

	__asm__("" : "+r"(state)); /* as in init.c */
	g_rseq_cs = T_NO_RSEQ;
	if (!__rseq_size)
		return false;
	g_rseq_cs =
		thread + __rseq_offset + offsetof(struct rseq, rseq_cs) - state;
	return true;
}

static uint32_t depth_of(enum own_cost_kind kind)
{
	if (kind == OWN_COST_TOO_DEEP)
		return 1;
	return kind == OWN_COST_DEPTH ? UINT32_MAX : 0;
}

/* Sets the state of a started recording and of a thread with a slot. */
static void set_up(enum own_cost_kind kind, bool counter)
{
	bool general = !find_rseq() || kind == OWN_COST_GENERAL || !counter ||
		       depth_of(kind);

	if (kind == OWN_COST_GENERAL)
		g_rseq_cs = T_NO_RSEQ;
	g_shim = (struct shim){
		.page = &g_page,
		.slots = &g_slot,
		.rings = g_cells,
		.liveness = &g_liveness,
		.slot_count = 1,
		.ring_cells = CELLS,
		.clock = counter ? ticks_now : now_ns,
		.general = general,
		.depth = depth_of(kind),
		.pid = getpid(),
	};
	g_withheld.count = g_withheld.above = 0;
	g_depth.count = g_depth.least = g_depth.over = 0;
	t_thread = (struct thread_state){
		.epoch = EPOCH,
		.slot = &g_slot,
		.cells = g_cells,
		.mask = CELLS - 1,
		.touched = CELLS,
		.excluded = &g_slot.excluded_hooks,
		.counts = g_counts,
		.withheld = &g_withheld,
		.depth = g_shim.depth ? &g_depth : NULL,
	};
	/* relaxed: no other reader */
	atom_store_rlx(&g_alloc_mode, kind == OWN_COST_BLOCK_NOT_SAMPLED
					      ? WIRE_ALLOC_SAMPLED
					      : WIRE_ALLOC_EXACT);
	g_block.next = NULL;
	g_free = &g_block;
	g_free_count = 1;
	t_alloc = (struct alloc_thread){ .left = NEVER, .random = 1 };
	g_filter = (struct gate_filter){ .table = g_table,
					 .shift = TABLE_SHIFT,
					 .numbers = g_numbers };
	g_table[filter_index((uintptr_t)INNER, TABLE_SHIFT)] = (uintptr_t)INNER;
	/* relaxed, all: no other reader */
	atom_store_rlx(&g_gate.count_epoch, (uint32_t)EPOCH);
	atom_store_rlx(&g_page.control,
		       kind == OWN_COST_PAUSED ? CONTROL_PAUSED : CONTROL_ON);
	atom_store_rlx(&g_gate.word,
		       EPOCH | (kind == OWN_COST_EXCLUDED ? GATE_FILTER : 0) |
			       (general ? GATE_GENERAL : 0));
}

/* Marks all cells as read; none if the ring must be @full. */
static void read_ring(bool full)
{
	/* relaxed, all: no other thread */
	uint64_t head = atom_load_rlx(&g_slot.head);

	atom_store_rlx(&g_slot.tail, full ? head - CELLS : head);
	put_renew_limits();
}

/* Work between calls, which the CPU overlaps with reading the clock. */
static void work(void)
{
	for (int i = 0; i < 2; i++)
		g_sum++;
}

/* Like the hooks of the C library. */
ATTR_NOINLINE static void empty_hook(void *function, void *call_site)
{
	__asm__ volatile("" : : "r"(function), "r"(call_site));
}

ATTR_NOINLINE static void call(const struct hooks *hooks, void *function)
{
	hooks->enter(function, OUTER);
	work();
	hooks->exit(function, OUTER);
}

/* Two of three spans are inside the third, like real calls. With INNER
 * excluded, all are of INNER. */
static void spans(const struct hooks *hooks)
{
	for (int i = 0; i < PAIRS; i += 3) {
		hooks->enter(hooks->outer, OUTER);
		call(hooks, INNER);
		call(hooks, INNER);
		hooks->exit(hooks->outer, OUTER);
	}
}

/* An allocator with a list of free blocks, like real ones. */
ATTR_NOINLINE static void *get_block(size_t size)
{
	struct block *block = g_free;

	if (!block || size > sizeof(*block) || !g_free_count)
		return NULL;
	g_free = block->next;
	g_free_count--;
	return block;
}

ATTR_NOINLINE static void free_block(void *at)
{
	struct block *block = at;

	if (!block)
		return;
	block->next = g_free;
	g_free = block;
	g_free_count++;
}

static void *(*volatile g_get_block)(size_t size) = get_block;
static void (*volatile g_free_block)(void *block) = free_block;

ATTR_NOINLINE static void *wrapped_malloc(size_t size)
{
	uintptr_t outer;
	uint32_t mode = wrap_enter(true, &outer);
	void *block = g_get_block(size);

	return wrap_allocated(wrap_leave(mode, &outer), block, size,
			      WRAP_CALLER, WRAP_CFA);
}

ATTR_NOINLINE static void wrapped_free(void *block)
{
	uintptr_t outer;
	uint32_t mode = wrap_enter(true, &outer);

	wrap_free(mode, block, WRAP_CALLER);
	g_free_block(block);
}

static void blocks(const struct hooks *hooks)
{
	for (int i = 0; i < PAIRS; i++)
		hooks->free(hooks->malloc(sizeof(g_block)));
}

static void instants(const struct hooks *hooks)
{
	(void)hooks;
	for (int i = 0; i < PAIRS; i++)
		perfrec_shim_1.instant(&g_site, NULL, 0);
}

/* In the form of perfrec.h: one cell in front, two behind. */
static void arguments(const struct hooks *hooks)
{
	struct perfrec_arg args[6];

	(void)hooks;
	for (int i = 0; i < PAIRS; i++) {
		for (int k = 1; k <= 3; k++)
			args[k] = (struct perfrec_arg){ NOTE_INT, (uint64_t)i };
		perfrec_shim_1.end(perfrec_shim_1.begin_args(&g_site, args, 3));
	}
}

static void texts(const struct hooks *hooks)
{
	static const char text[] = "twenty characters ..";
	struct perfrec_arg args[4];

	(void)hooks;
	for (int i = 0; i < PAIRS; i++) {
		args[1] = (struct perfrec_arg){ NOTE_STRING | (sizeof(text) - 1)
								      << 8,
						(uintptr_t)text };
		perfrec_shim_1.end(perfrec_shim_1.begin_args(&g_site, args, 1));
	}
}

static loop_fn *loop_of(enum own_cost_kind kind)
{
	switch (kind) {
	case OWN_COST_BLOCK:
	case OWN_COST_BLOCK_DROPPED:
	case OWN_COST_BLOCK_NOT_SAMPLED:
		return blocks;
	case OWN_COST_INSTANT:
		return instants;
	case OWN_COST_ARGUMENTS:
		return arguments;
	case OWN_COST_TEXT:
		return texts;
	default:
		return spans;
	}
}

static uint64_t time_round(loop_fn *loop, const struct hooks *hooks)
{
	uint64_t begin = now_ns();

	loop(hooks);
	return now_ns() - begin;
}

/* Returns how many ns a round with @hooks takes longer than one with @none
 * (NULL: altogether). Both are the least of ROUNDS, measured alternately. */
static uint64_t time_rounds(loop_fn *loop, const struct hooks *hooks,
			    const struct hooks *none, bool full)
{
	uint64_t with = UINT64_MAX, without = none ? UINT64_MAX : 0;

	for (int i = 0; i < ROUNDS; i++) {
		read_ring(full);
		with = MIN(with, time_round(loop, hooks));
		if (none)
			without = MIN(without, time_round(loop, none));
	}
	return with > without ? with - without : 1;
}

static void tear_down(void)
{
	/* relaxed: as below */
	atom_store_rlx(&g_alloc_mode, WIRE_ALLOC_OFF);
	/* relaxed: no hook of this copy records any more */
	atom_store_rlx(&g_gate.word, GATE_OFF);
}

double own_cost_ns(enum own_cost_kind kind, bool counter)
{
	bool full = kind == OWN_COST_DROPPED || kind == OWN_COST_BLOCK_DROPPED;
	struct hooks hooks = {
		.outer = kind == OWN_COST_EXCLUDED ? INNER : OUTER,
		.enter = __cyg_profile_func_enter,
		.exit = __cyg_profile_func_exit,
		.malloc = wrapped_malloc,
		.free = wrapped_free,
	};
	const struct hooks none = {
		.outer = hooks.outer,
		.enter = empty_hook,
		.exit = empty_hook,
		.malloc = get_block,
		.free = free_block,
	};
	loop_fn *loop = loop_of(kind);
	uint64_t ns;

	set_up(kind, counter);
	read_ring(false);
	/* This span stays open, and encloses the spans that --depth drops. */
	__cyg_profile_func_enter(OUTER, OUTER);
	/* Without the shim, annotations call no function. */
	ns = time_rounds(loop, &hooks,
			 loop == spans || loop == blocks ? &none : NULL, full);
	tear_down();
	return (double)ns / PAIRS;
}

/* The work of a small function: about 3 ns. */
static void little_work(void)
{
	uint64_t x = g_sum;

	for (int i = 0; i < 4; i++) {
		x *= 3;
		__asm__ volatile("" : "+r"(x));
	}
	g_sum = x;
}

ATTR_NOINLINE static void empty_function(const struct hooks *hooks)
{
	hooks->enter(INNER, OUTER);
	hooks->exit(INNER, OUTER);
}

ATTR_NOINLINE static void small_function(const struct hooks *hooks)
{
	hooks->enter(INNER, OUTER);
	little_work();
	hooks->exit(INNER, OUTER);
}

ATTR_NOINLINE static void plain_function(const struct hooks *hooks)
{
	__asm__ volatile("" : : "r"(hooks));
	little_work();
}

static void empty_calls(const struct hooks *hooks)
{
	for (int i = 0; i < PAIRS; i++)
		empty_function(hooks);
}

static void small_calls(const struct hooks *hooks)
{
	for (int i = 0; i < PAIRS; i++)
		small_function(hooks);
}

static void plain_calls(const struct hooks *hooks)
{
	for (int i = 0; i < PAIRS; i++)
		plain_function(hooks);
}

/* Returns the part of @ns that is between BEGIN and END, for each pair. */
static double inside_ns(double ns)
{
	/* relaxed: no other writer */
	uint64_t head = atom_load_rlx(&g_slot.head);
	uint64_t inside = 0, all;

	for (uint64_t i = head - 2 * PAIRS; i < head; i += 2)
		inside += g_cells[(i + 1) % CELLS].clock -
			  g_cells[i % CELLS].clock;
	all = g_cells[(head - 1) % CELLS].clock -
	      g_cells[(head - 2 * PAIRS) % CELLS].clock;
	if (!all || inside > all)
		return ns / PAIRS / 2;
	return ns / PAIRS * (double)inside / (double)all;
}

/* Times @loop, which makes PAIRS calls: the least of ROUNDS. Sets @inside to
 * the time measured inside a call. Returns the time of a call. */
static double time_calls(loop_fn *loop, double *inside)
{
	const struct hooks hooks = {
		.enter = __cyg_profile_func_enter,
		.exit = __cyg_profile_func_exit,
	};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t ns;

		read_ring(false);
		ns = time_round(loop, &hooks);
		if (ns >= least)
			continue;
		least = ns;
		*inside = inside_ns((double)ns);
	}
	return (double)least / PAIRS;
}

struct own_cost_halves own_cost_halves(enum own_cost_kind kind, bool counter)
{
	struct own_cost_halves halves;
	double small, one;

	set_up(kind, counter);
	read_ring(false);
	__cyg_profile_func_enter(OUTER, OUTER);
	one = time_calls(empty_calls, &halves.least_ns);
	halves.outer_ns = one - halves.least_ns;
	time_calls(small_calls, &small);
	one = (double)time_rounds(plain_calls, NULL, NULL, false) / PAIRS;
	tear_down();
	/* Noise must not make it less than half. */
	halves.inner_ns =
		MIN(MAX(small - one, halves.least_ns / 2), halves.least_ns);
	return halves;
}

static void sample_once(const struct hooks *hooks)
{
	struct alloc_caller caller = { 0 };

	(void)hooks;
	caller.reg[RECORD_REG_SP] = (uintptr_t)g_stack;
	heap_sample_take(0, &g_block, sizeof(g_block), &caller);
}

double own_cost_sample_ns(uint32_t stack_bytes)
{
	uint64_t least;

	set_up(OWN_COST_SPAN, true);
	heap_sample_start(1, MIN(stack_bytes, (uint32_t)sizeof(g_stack)),
			  false);
	least = time_rounds(sample_once, NULL, NULL, false);
	tear_down();
	return (double)least;
}
