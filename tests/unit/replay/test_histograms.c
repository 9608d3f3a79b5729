/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/histograms.h"

#include <errno.h>

#include "collector/base/budget.h"
#include "collector/replay/cct.h"
#include "collector/replay/replay_inner.h"
#include "collector/trace/trace_file.h"
#include "shared/record.h"
#include "tests/suite.h"

#define BUDGET_BYTES (16u << 20)

static struct log {
	struct {
		uint32_t generation;
		struct address_range range;
	} event[8];
	size_t count;
	bool lost;
	int asked;
} g_log;

static size_t unloaded(void *context, uint32_t after, uint32_t upto,
		       struct address_range *out, size_t room)
{
	struct log *log = context;
	size_t found = 0;

	log->asked++;
	if (log->lost)
		return SIZE_MAX;
	for (size_t i = 0; i < log->count; i++)
		if (log->event[i].generation > after &&
		    log->event[i].generation <= upto && found < room)
			out[found++] = log->event[i].range;
	return found;
}

static void unload(uint32_t generation, uint64_t start, uint64_t end)
{
	g_log.event[g_log.count].generation = generation;
	g_log.event[g_log.count++].range = (struct address_range){ start, end };
}

static struct budget g_budget;
static struct histograms *g_all;

static void setup(void)
{
	memset(&g_log, 0, sizeof(g_log));
	g_budget = (struct budget){ .left = BUDGET_BYTES };
	ck_assert_int_eq(histograms_new(unloaded, &g_log, &g_budget, &g_all),
			 0);
}

static void teardown(void)
{
	histograms_free(&g_all);
	ck_assert_ptr_null(g_all);
	ck_assert_uint_eq(g_budget.left, BUDGET_BYTES);
}

FIXTURE(setup, teardown);

TEST(histograms_has_one_for_each_function)
{
	struct histogram *list[3000];

	for (uint64_t i = 0; i < ARRAY_SIZE(list); i++) {
		list[i] = histograms_find(g_all, 0x1000 + 16 * i, 0);
		ck_assert_ptr_nonnull(list[i]);
		histogram_add(list[i], i);
	}
	for (uint64_t i = 0; i < ARRAY_SIZE(list); i++) {
		ck_assert_ptr_eq(histograms_find(g_all, 0x1000 + 16 * i, 0),
				 list[i]);
		ck_assert_uint_eq(list[i]->max, i);
		ck_assert_uint_eq(histogram_total(list[i]), 1);
	}
	ck_assert_int_eq(g_log.asked, 0);
}

TEST(histograms_are_shared_by_threads_of_any_generation)
{
	struct histogram *first = histograms_find(g_all, 0x1000, 0);

	for (uint32_t generation = 1; generation < 1000; generation++)
		ck_assert_ptr_eq(histograms_find(g_all, 0x1000, generation),
				 first);
	ck_assert_ptr_eq(histograms_find(g_all, 0x1000, 3), first);
	ck_assert_int_eq(g_log.asked, 999);
}

TEST(histograms_have_another_after_an_unload)
{
	struct histogram *stays = histograms_find(g_all, 0x1000, 0);
	struct histogram *old = histograms_find(g_all, 0x2000, 0), *new;

	unload(1, 0x2000, 0x3000);
	new = histograms_find(g_all, 0x2000, 1);
	ck_assert_ptr_ne(new, old);
	/* A thread of an older generation keeps the old histogram. */
	ck_assert_ptr_eq(histograms_find(g_all, 0x2000, 0), old);
	ck_assert_ptr_eq(histograms_find(g_all, 0x2000, 2), new);
	ck_assert_ptr_eq(histograms_find(g_all, 0x1000, 2), stays);
	ck_assert_int_eq(g_log.asked, 2);
}

/* The calls in between belong to neither histogram. */
TEST(histograms_of_two_unloads_at_once_are_not_mixed)
{
	struct histogram *old = histograms_find(g_all, 0x2000, 0), *between;

	unload(1, 0x2000, 0x3000);
	unload(2, 0x2000, 0x3000);
	ck_assert_ptr_ne(histograms_find(g_all, 0x2000, 2), old);
	between = histograms_find(g_all, 0x2000, 1);
	ck_assert_ptr_ne(between, old);
	ck_assert_ptr_ne(between, histograms_find(g_all, 0x2000, 2));
	ck_assert_ptr_eq(histograms_find(g_all, 0x2000, 1), between);
}

TEST(histograms_are_all_others_when_the_log_is_lost)
{
	struct histogram *old = histograms_find(g_all, 0x1000, 0);

	g_log.lost = true;
	ck_assert_ptr_ne(histograms_find(g_all, 0x1000, 1), old);
}

TEST(histograms_of_one_address_are_not_searched_for_ever)
{
	struct histogram *early = NULL, *last = NULL;

	g_log.lost = true;
	for (uint32_t generation = 0; generation < 2000; generation++) {
		last = histograms_find(g_all, 0x1000, generation);
		ck_assert_ptr_nonnull(last);
		if (generation == 5)
			early = last;
	}
	ck_assert_ptr_eq(histograms_find(g_all, 0x1000, 1999), last);
	ck_assert_ptr_ne(histograms_find(g_all, 0x1000, 5), early);
}

TEST(histograms_without_memory_say_so)
{
	struct budget none = { .left = 0 }, few = { .left = 8192 };
	struct histograms *all = NULL;
	uint64_t made = 0;

	ck_assert_int_eq(histograms_new(unloaded, &g_log, &none, &all),
			 -ENOMEM);
	ck_assert_ptr_null(all);
	ck_assert_int_eq(histograms_new(unloaded, &g_log, &few, &all), 0);
	while (histograms_find(all, made * 64, 0))
		made++;
	ck_assert_uint_gt(made, 5);
	ck_assert_ptr_nonnull(histograms_find(all, 0, 0));
	ck_assert_ptr_null(histograms_find(all, made * 64, 0));
	histograms_free(&all);
	ck_assert_uint_eq(few.left, 8192);
}

static void take_visit(void *context, const char *name, const char *module,
		       struct histogram *histogram)
{
	struct histogram *sum = context;

	ck_assert_str_eq(name, "f");
	ck_assert_str_eq(module, "m");
	histogram_merge(sum, histogram);
}

TEST(histograms_with_names_are_visited)
{
	struct histogram sum = { .budget = &g_budget };

	for (uint64_t i = 0; i < 100; i++) {
		struct histogram *one = histograms_find(g_all, i, 0);

		histogram_add(one, i);
		if (i % 2)
			histograms_set_name(one, "f", "m");
		if (i % 2)
			histograms_set_name(one, "g", "n");
	}
	histograms_each(g_all, take_visit, &sum);
	ck_assert_uint_eq(histogram_total(&sum), 50);
	ck_assert_uint_eq(sum.max, 99);
	histogram_release(&sum);
}

/* --- replay --- */

static struct trace_block g_block;

static struct trace_block *take(void *context)
{
	(void)context;
	return &g_block;
}

static void give(void *context, struct trace_block *block)
{
	(void)context;
	(void)block;
}

static bool excludes(void *context, uint64_t function)
{
	(void)context;
	return function == 0x9990;
}

static struct replay *new_replay(void)
{
	const struct replay_sink sink = {
		.take = take,
		.give = give,
		.excludes = excludes,
	};
	struct replay *replay;

	ck_assert_int_eq(
		replay_new(&sink, 5, 0, NULL, NULL, &g_budget, &replay), 0);
	replay_set_histograms(replay, g_all);
	return replay;
}

static void run(struct replay *replay, const struct record *cells, size_t count)
{
	size_t taken;

	ck_assert_int_eq(replay_run(replay, cells, count, INT64_MAX, &taken),
			 0);
	ck_assert_uint_eq(taken, count);
}

static struct record cell(enum record_kind kind, uint64_t function, uint32_t sp,
			  uint64_t clock)
{
	return (struct record){ record_word(kind, function, sp), clock };
}

static uint64_t total_of(uint64_t function)
{
	return histogram_total(histograms_find(g_all, function, 0));
}

TEST(replay_counts_durations_of_two_threads_together)
{
	const struct record cells[] = {
		cell(RECORD_BEGIN, 0x1000, 0x800, 100),
		cell(RECORD_BEGIN, 0x2000, 0x700, 110),
		cell(RECORD_END, 0x2000, 0x700, 130),
		cell(RECORD_BEGIN, 0x2000, 0x700, 140),
		cell(RECORD_END, 0x2000, 0x700, 150),
		cell(RECORD_END, 0x1000, 0x800, 200),
	};
	struct histogram *inner;

	for (int i = 0; i < 2; i++) {
		struct replay *replay = new_replay();

		run(replay, cells, ARRAY_SIZE(cells));
		replay_flush(replay);
		replay_free(&replay);
	}
	inner = histograms_find(g_all, 0x2000, 0);
	ck_assert_uint_eq(total_of(0x1000), 2);
	ck_assert_uint_eq(histogram_total(inner), 4);
	ck_assert_uint_eq(histogram_quantile(inner, 500), 10);
	ck_assert_uint_eq(histogram_quantile(inner, 510), 20);
	ck_assert_uint_eq(inner->max, 20);
}

/* Folded calls and calls ended by replay count, like in the tree. */
TEST(replay_counts_durations_of_all_calls_in_the_tree)
{
	struct replay *replay = new_replay();
	const struct cct_function *function;
	uint64_t calls = 0;

	for (uint32_t i = 0; i < REPLAY_SLICES_MAX + 88; i++) {
		struct record begin =
			cell(RECORD_BEGIN, 0x1000, 0x8000 - 16 * i, 100 + i);

		run(replay, &begin, 1);
	}
	replay_finish(replay, 5000);
	replay_flush(replay);
	function = cct_find_function(replay_tree(replay), 0x1000);
	for (const struct cct_node *node = function->nodes; node;
	     node = node->of_function)
		calls += node->calls;
	ck_assert_uint_eq(calls, REPLAY_SLICES_MAX + 88);
	ck_assert_uint_eq(total_of(0x1000), calls);
	ck_assert_uint_eq(histograms_find(g_all, 0x1000, 0)->max, 4900);
	replay_free(&replay);
}

TEST(replay_counts_no_durations_of_what_it_withholds)
{
	const struct record cells[] = {
		cell(RECORD_BEGIN, 0x1000, 0x800, 100),
		cell(RECORD_BEGIN, 0x9990, 0x700, 110), /* excluded */
		cell(RECORD_END, 0x9990, 0x700, 120),
		cell(RECORD_PHANTOM, 0x2000, 0x700, 130),
		cell(RECORD_END, 0x2000, 0x700, 140),
		cell(RECORD_END, 0x3000, 0x700, 150), /* an orphan */
		cell(RECORD_END, 0x1000, 0x800, 200),
	};
	struct replay *replay = new_replay();

	run(replay, cells, ARRAY_SIZE(cells));
	replay_flush(replay);
	replay_free(&replay);
	ck_assert_uint_eq(total_of(0x1000), 1);
	ck_assert_uint_eq(total_of(0x9990), 0);
	ck_assert_uint_eq(total_of(0x2000), 0);
	ck_assert_uint_eq(total_of(0x3000), 0);
}
