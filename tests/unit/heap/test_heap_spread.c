/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_spread: spreading never changes sums, for any samples and at any moment,
 * and undoing it restores the previous state.
 */

#include "collector/base/budget.h"
#include "collector/heap/heap.h"
#include "collector/heap/heap_spread.h"
#include "tests/suite.h"

#define BUDGET (1ULL << 28)
#define UNKNOWN 3 /* number of the unknown stack */
#define OWNERS 3
#define STACKS 20

static struct budget g_budget;
static struct heap g_exact, g_known;

static void begin(void)
{
	g_budget.left = BUDGET;
	ck_assert_int_eq(heap_init(&g_exact, &g_budget, 0, 1), 0);
	ck_assert_int_eq(heap_init(&g_known, &g_budget, 512, 1), 0);
	g_known.follows = true;
}

static void finish(void)
{
	heap_release(&g_exact);
	heap_release(&g_known);
	ck_assert_uint_eq(g_budget.left, BUDGET);
}

static uint64_t g_events; /* clock of g_known */

static void see_ended(void)
{
	if (!g_exact.ended)
		return;
	g_known.epoch = g_exact.epoch;
	ck_assert_int_eq(heap_free(&g_known, ++g_events, g_exact.ended, 0,
				   g_exact.ended_temporary),
			 HEAP_FREED);
	g_exact.ended = 0;
}

/* @stack 0: unknown. */
static void put(uint64_t clock, uint64_t address, uint64_t size, uint32_t owner,
		uint32_t stack)
{
	bool live;

	heap_alloc(&g_exact, clock, address, size,
		   heap_site(&g_exact, owner, UNKNOWN));
	see_ended();
	if (!stack)
		return;
	live = heap_mark(&g_exact, clock, address, &g_known.at_peak);
	g_known.epoch = g_exact.epoch;
	size = heap_sampled_size(size, 0);
	if (live)
		heap_alloc(&g_known, ++g_events, address, size,
			   heap_site(&g_known, owner, stack));
	else
		heap_alloc_untracked(&g_known, size,
				     heap_site(&g_known, owner, stack));
}

static void take(uint64_t clock, uint64_t address)
{
	heap_free(&g_exact, clock, address, 0, clock % 2);
	see_ended();
}

struct sums {
	struct heap_values now, then;
	uint64_t temporary;
};

static void add(struct heap_values *to, const struct heap_values *from)
{
	ck_assert_uint_le(from->inuse_objects, from->alloc_objects);
	ck_assert_uint_le(from->inuse_bytes, from->alloc_bytes);
	to->alloc_objects += from->alloc_objects;
	to->alloc_bytes += from->alloc_bytes;
	to->inuse_objects += from->inuse_objects;
	to->inuse_bytes += from->inuse_bytes;
}

static struct sums sum_of(uint32_t owner)
{
	struct sums sums;
	uint32_t i;

	memset(&sums, 0, sizeof(sums));
	for (i = 0; i < heap_site_count(&g_exact); i++) {
		const struct heap_site *site = heap_get_site(&g_exact, i);
		struct heap_values then = heap_at_peak(&g_exact, site);

		if (site->owner != owner)
			continue;
		add(&sums.now, &site->now);
		add(&sums.then, &then);
		sums.temporary += site->temporary;
	}
	return sums;
}

static void check_history(uint32_t steps)
{
	struct sums before[OWNERS], after;
	static uint64_t clock;
	uint32_t owner, stack;

	for (; steps; steps--) {
		uint64_t address = 16 * (1 + (uint64_t)random() % 300);

		owner = (uint32_t)random() % OWNERS;
		stack = random() % 4 ? 0 : 10 + (uint32_t)random() % STACKS;
		if (random() % 2)
			put(++clock, address, (uint64_t)random() % 2000, owner,
			    stack);
		else
			take(++clock, address);
	}
	for (owner = 0; owner < OWNERS; owner++)
		before[owner] = sum_of(owner);
	heap_spread(&g_exact, &g_known, UNKNOWN);
	for (owner = 0; owner < OWNERS; owner++) {
		after = sum_of(owner);
		ck_assert_mem_eq(&after, &before[owner], sizeof(after));
	}
	heap_unspread(&g_exact, &g_known, UNKNOWN);
	for (owner = 0; owner < OWNERS; owner++) {
		after = sum_of(owner);
		ck_assert_mem_eq(&after, &before[owner], sizeof(after));
		after = (struct sums){ .now = heap_get_site(&g_exact,
							    heap_site(&g_exact,
								      owner,
								      UNKNOWN))
						      ->now };
		ck_assert_mem_eq(&after.now, &before[owner].now,
				 sizeof(after.now));
	}
}

FIXTURE(NULL, finish);

TEST(spread_keeps_all_sums, EACH(0, 64))
{
	srandom((unsigned int)_i);
	begin();
	g_events = 0;
	check_history(50 << _i % 8);
	check_history(1000);
}

/* Two stacks with blocks of one size; one has three times as many. */
TEST(spread_gives_each_stack_its_share)
{
	uint64_t i;
	uint32_t site;

	begin();
	for (i = 1; i <= 4000; i++)
		put(i, i * 16, 100, 1, i % 10 ? 0 : i % 40 ? 11 : 12);
	heap_spread(&g_exact, &g_known, UNKNOWN);
	site = heap_site(&g_exact, 1, 11);
	ck_assert_uint_eq(heap_get_site(&g_exact, site)->now.inuse_bytes,
			  300000);
	site = heap_site(&g_exact, 1, 12);
	ck_assert_uint_eq(heap_get_site(&g_exact, site)->now.inuse_objects,
			  1000);
	site = heap_site(&g_exact, 1, UNKNOWN);
	ck_assert_uint_eq(heap_get_site(&g_exact, site)->now.alloc_bytes, 0);
}

/* In denser samples each one stands for less. */
TEST(spread_weighs_by_the_distance_between_samples)
{
	begin();
	put(1, 16, 1, 1, 11);
	heap_alloc(&g_exact, 2, 32, 1, heap_site(&g_exact, 1, UNKNOWN));
	g_known.epoch = g_exact.epoch;
	heap_alloc(&g_known, 2, 32, heap_sampled_size(1, 3),
		   heap_site(&g_known, 1, 12));
	ck_assert_uint_eq(heap_round(&g_known, g_known.totals.now.inuse_bytes),
			  512 + 64 + 1);
}

/* The stack arrives when the peak of its block or a later one is over. */
TEST(spread_knows_the_block_that_made_the_peak)
{
	struct heap_values peak;
	bool live;

	begin();
	put(1, 16, 100, 1, 11);
	heap_alloc(&g_exact, 2, 32, 5000, heap_site(&g_exact, 1, UNKNOWN));
	/* from another thread, without a stack */
	heap_alloc(&g_exact, 3, 48, 1, heap_site(&g_exact, 2, UNKNOWN));
	live = heap_mark(&g_exact, 2, 32, &g_known.at_peak);
	ck_assert(live && g_known.at_peak);
	g_known.epoch = g_exact.epoch;
	heap_alloc(&g_known, 2, 32, heap_sampled_size(5000, 0),
		   heap_site(&g_known, 1, 12));
	take(4, 32);
	/* below the peak */
	put(5, 64, 1000, 1, 13);
	ck_assert(!g_known.at_peak);
	heap_spread(&g_exact, &g_known, UNKNOWN);
	peak = heap_at_peak(
		&g_exact,
		heap_get_site(&g_exact, heap_site(&g_exact, 1, UNKNOWN)));
	ck_assert_uint_eq(peak.inuse_bytes, 0);
	peak = heap_at_peak(
		&g_exact, heap_get_site(&g_exact, heap_site(&g_exact, 1, 12)));
	ck_assert_uint_gt(peak.inuse_bytes, 4500);
	peak = heap_at_peak(
		&g_exact, heap_get_site(&g_exact, heap_site(&g_exact, 1, 13)));
	ck_assert_uint_eq(peak.inuse_bytes, 0);
}
