/* SPDX-License-Identifier: Apache-2.0
 *
 * heap and heap_table, compared with brute-force models.
 */
#include <math.h>

#include "collector/base/budget.h"
#include "collector/heap/heap.h"
#include "tests/suite.h"

#define BUDGET (1ULL << 28)

static struct budget g_budget;
static struct heap g_heap;

static void new_heap(uint64_t period)
{
	g_budget.left = BUDGET;
	ck_assert_int_eq(heap_init(&g_heap, &g_budget, period, 12345), 0);
}

static void end_heap(void)
{
	heap_release(&g_heap);
	ck_assert_uint_eq(g_budget.left, BUDGET);
}

/* --- the table ----------------------------------------------------------- */

#define KEYS 5000

/* From neighbours to about one block per region of the table. */
static const uint64_t g_stride[] = { 16, 48, 1000, 4096, 1 << 16, 3 << 20 };

#define STRIDES ((int)(sizeof(g_stride) / sizeof(*g_stride)))

/* Cheaper than ck_assert() for millions of checks. */
#define must(condition)                                           \
	do {                                                      \
		if (!(condition))                                 \
			ck_abort_msg("not true: %s", #condition); \
	} while (0)

TEST(table_holds_what_was_put_there, EACH(0, 2 * STRIDES))
{
	static uint64_t size[KEYS];
	struct heap_table table;
	uint64_t count = 0, stride = g_stride[_i % STRIDES];
	uint32_t i, step;

	g_budget.left = BUDGET;
	heap_table_init(&table, &g_budget, (uint64_t)_i * 77777);
	memset(size, 0, sizeof(size));
	for (step = 0; step < 200000; step++) {
		uint32_t key = (uint32_t)random() % KEYS;
		uint64_t address = 0x700000000000 + key * stride;
		struct heap_block *block = heap_table_find(&table, address);

		if (step / 50000 % 2 && random() % 8)
			key = KEYS;
		if (key < KEYS && !size[key]) {
			must(!block);
			size[key] = 1 + (uint64_t)random() * 1000;
			must(heap_table_add(&table, address, size[key], step,
					    key));
			count++;
		} else if (block) {
			i = block->site;
			must(heap_block_size(block) == size[i]);
			heap_table_remove(&table, block);
			size[i] = 0;
			count--;
		}
		must(table.count == count);
	}
	for (i = 0; i < KEYS; i++)
		ck_assert_int_eq(
			!heap_table_find(&table, 0x700000000000 + i * stride),
			!size[i]);
	heap_table_release(&table);
	ck_assert_uint_eq(g_budget.left, BUDGET);
}

TEST(table_takes_few_bytes_of_a_block, EACH(0, STRIDES))
{
	uint64_t i, stride = g_stride[_i];
	struct heap_table table;

	g_budget.left = BUDGET;
	heap_table_init(&table, &g_budget, 1);
	for (i = 1; i <= 200000; i++) {
		must(heap_table_add(&table, i * stride, 32, i, 0));
		if (i < 20000 || i % 1000)
			continue;
		ck_assert_uint_ge(heap_table_bytes(&table), 24 * i);
		ck_assert_uint_le(heap_table_bytes(&table), 49 * i);
		ck_assert_uint_le(BUDGET - g_budget.left,
				  heap_table_bytes(&table));
	}
	for (i = 1; i <= 200000; i++)
		heap_table_remove(&table, heap_table_find(&table, i * stride));
	ck_assert_uint_eq(table.count, 0);
	/* A part of each thousand blocks at their peak. */
	ck_assert_uint_le(heap_table_bytes(&table), 2 * 200000);
	heap_table_release(&table);
	ck_assert_uint_eq(g_budget.left, BUDGET);
}

TEST(table_says_when_it_is_full, EACH(0, STRIDES))
{
	uint64_t i = 1, n, stride = g_stride[_i];
	struct heap_table table;

	g_budget.left = 200000;
	heap_table_init(&table, &g_budget, 1);
	while (heap_table_add(&table, i * stride, HEAP_SIZE_MAX, i, 0))
		i++;
	ck_assert_uint_gt(i, 200);
	for (n = 1; n < i; n++)
		ck_assert_uint_eq(
			heap_block_size(heap_table_find(&table, n * stride)),
			HEAP_SIZE_MAX);
	ck_assert_ptr_null(heap_table_find(&table, i * stride));
	heap_table_release(&table);
	ck_assert_uint_eq(g_budget.left, 200000);
}

/* --- rules --------------------------------------------------------------- */

#define A 0x1000

static void check_sums(void)
{
	const struct heap_totals *t = &g_heap.totals;
	struct heap_values sum = { 0 };
	uint32_t i;

	ck_assert_uint_eq(t->allocs, g_heap.table.count + t->matched_frees +
					     t->implied_frees + t->untracked);
	for (i = 0; i < heap_site_count(&g_heap); i++) {
		const struct heap_site *site = heap_get_site(&g_heap, i);

		sum.alloc_objects += site->now.alloc_objects;
		sum.alloc_bytes += site->now.alloc_bytes;
		sum.inuse_objects += site->now.inuse_objects;
		sum.inuse_bytes += site->now.inuse_bytes;
	}
	ck_assert_mem_eq(&sum, &t->now, sizeof(sum));
}

TEST(heap_tells_frees_apart)
{
	const struct heap_totals *t = &g_heap.totals;

	new_heap(0);
	ck_assert_int_eq(heap_free(&g_heap, 1, A, 0, false), HEAP_FOREIGN);
	ck_assert_int_eq(heap_free(&g_heap, 2, A, 0, false), HEAP_FOREIGN);
	heap_alloc(&g_heap, 3, A, 100, 0);
	ck_assert_int_eq(heap_free(&g_heap, 4, A, 0, true), HEAP_FREED);
	ck_assert_int_eq(heap_free(&g_heap, 5, A, 0, false), HEAP_DOUBLE);
	ck_assert_int_eq(heap_free(&g_heap, 6, A, 0, false), HEAP_DOUBLE);
	ck_assert_int_eq(heap_free(&g_heap, 3, A, 0, false), HEAP_LATE);
	heap_alloc(&g_heap, 7, A, 10, 0);
	heap_alloc(&g_heap, 8, A, 20, 0);
	ck_assert_int_eq(heap_free(&g_heap, 7, A, 0, false), HEAP_LATE);
	ck_assert_uint_eq(t->foreign_frees, 2);
	ck_assert_uint_eq(t->double_frees, 2);
	ck_assert_uint_eq(t->late_frees, 2);
	ck_assert_uint_eq(t->implied_frees, 1);
	ck_assert_uint_eq(t->matched_frees, 1);
	ck_assert_uint_eq(t->temporary, 1);
	ck_assert_uint_eq(t->now.inuse_bytes, 20);
	ck_assert_uint_eq(t->now.alloc_bytes, 130);
	check_sums();
	end_heap();
}

/* The free arrived first, from another ring. */
TEST(heap_matches_a_block_that_comes_late)
{
	const struct heap_totals *t = &g_heap.totals;

	new_heap(0);
	ck_assert_int_eq(heap_free(&g_heap, 5, A, 0, false), HEAP_FOREIGN);
	heap_alloc(&g_heap, 4, A, 100, 0);
	ck_assert_uint_eq(t->foreign_frees, 0);
	ck_assert_uint_eq(t->matched_frees, 1);
	ck_assert_uint_eq(t->now.inuse_bytes, 0);
	/* Free and allocation out of order are no error. */
	ck_assert_int_eq(heap_free(&g_heap, 6, A, 0, false), HEAP_FOREIGN);
	heap_alloc(&g_heap, 7, A, 100, 0);
	ck_assert_int_eq(heap_free(&g_heap, 7, A, 0, false), HEAP_FREED);
	/* Looks like a double free until the allocation arrives. */
	ck_assert_int_eq(heap_free(&g_heap, 9, A, 0, false), HEAP_DOUBLE);
	heap_alloc(&g_heap, 8, A, 100, 0);
	ck_assert_uint_eq(t->double_frees, 0);
	check_sums();
	end_heap();
}

/* The other thread read its clock slightly too early. */
TEST(heap_bears_clocks_that_are_early)
{
	const struct heap_totals *t = &g_heap.totals;
	uint32_t site;

	new_heap(0);
	site = heap_site(&g_heap, 1, 7);
	heap_alloc(&g_heap, 5000, A, 100, site);
	ck_assert_int_eq(heap_free(&g_heap, 6000, A, 1, false), HEAP_FREED);
	/* Frees the next block, from another thread. */
	ck_assert_int_eq(heap_free(&g_heap, 7000, A, 2, false), HEAP_DOUBLE);
	ck_assert(heap_is_double(&g_heap, 7000, A));
	heap_alloc(&g_heap, 7000 + HEAP_SKEW, A, 100, site);
	ck_assert(!heap_is_double(&g_heap, 7000, A));
	ck_assert_uint_eq(t->double_frees, 0);
	ck_assert_uint_eq(t->now.inuse_bytes, 0);
	heap_alloc(&g_heap, 7500, A, 100, site);
	ck_assert_uint_eq(t->now.inuse_bytes, 100);
	/* Thread 1 frees the previous block early, gets the address again, and
	 * hands it to thread 2. */
	heap_free(&g_heap, 7600, A, 2, false);
	heap_free(&g_heap, 7610, A, 1, false);
	heap_alloc(&g_heap, 7640, A, 100, site);
	ck_assert_uint_eq(t->now.inuse_bytes, 0);
	ck_assert_uint_eq(t->double_frees, 0);
	heap_alloc(&g_heap, 8001, A, 100, site);
	/* Clocks within one thread are exact. */
	heap_free(&g_heap, 8002, A, 1, false);
	ck_assert_int_eq(heap_free(&g_heap, 8003, A, 1, false), HEAP_DOUBLE);
	heap_alloc(&g_heap, 8004, A, 100, site);
	ck_assert_uint_eq(t->now.inuse_bytes, 100);
	ck_assert_uint_eq(t->double_frees, 1);
	check_sums();
	end_heap();
}

TEST(heap_without_all_records_claims_no_double_free)
{
	new_heap(0);
	g_heap.incomplete = true;
	heap_alloc(&g_heap, 1, A, 1, 0);
	ck_assert_int_eq(heap_free(&g_heap, 2, A, 0, false), HEAP_FREED);
	ck_assert_int_eq(heap_free(&g_heap, 3, A, 0, false), HEAP_FOREIGN);
	end_heap();
}

/* Nearly equal clocks may put a free behind the next allocation. */
TEST(heap_doubts_after_an_implied_free)
{
	new_heap(0);
	heap_alloc(&g_heap, 1000, A, 1, 0);
	heap_alloc(&g_heap, 2000, A, 2, 0);
	ck_assert_int_eq(heap_free(&g_heap, 2001, A, 0, false), HEAP_FREED);
	ck_assert_int_eq(heap_free(&g_heap, 9000, A, 0, false), HEAP_FOREIGN);
	heap_alloc(&g_heap, 10000, A, 1, 0);
	heap_alloc(&g_heap, 9999, A, 1, 0);
	heap_free(&g_heap, 10001, A, 0, false);
	ck_assert_int_eq(heap_free(&g_heap, 10002, A, 0, false), HEAP_FOREIGN);
	ck_assert_uint_eq(g_heap.totals.double_frees, 0);
	/* After an ordinary free the state is certain again. */
	heap_alloc(&g_heap, 20000, A, 1, 0);
	heap_free(&g_heap, 20001, A, 0, false);
	ck_assert_int_eq(heap_free(&g_heap, 20002, A, 0, false), HEAP_DOUBLE);
	check_sums();
	end_heap();
}

/* Many addresses compete for entries: a double free that may be withdrawn is
 * forgotten, a settled one stays. */
TEST(heap_forgets_no_double_free_that_is_settled, EACH(0, 2))
{
	uint64_t clock = 1, i;

	new_heap(0);
	heap_alloc(&g_heap, clock++, A, 1, 0);
	heap_free(&g_heap, clock++, A, 0, false);
	heap_free(&g_heap, clock++, A, 0, false);
	ck_assert_uint_eq(g_heap.totals.double_frees, 1);
	clock += _i ? HEAP_SKEW_DOUBLE : 0;
	for (i = 1; i <= 100000; i++)
		heap_free(&g_heap, clock, A + i * 16, 0, false);
	ck_assert(!heap_is_double(&g_heap, 3, A));
	ck_assert_uint_eq(g_heap.totals.double_frees, _i ? 1 : 0);
	ck_assert_uint_eq(g_heap.totals.foreign_frees, _i ? 100000 : 100001);
	end_heap();
}

TEST(heap_takes_back_what_is_doubted)
{
	new_heap(0);
	heap_alloc(&g_heap, 1, A, 1, 0);
	heap_free(&g_heap, 2, A, 0, false);
	ck_assert_int_eq(heap_free(&g_heap, 3, A, 0, false), HEAP_DOUBLE);
	heap_doubt(&g_heap, A);
	ck_assert(!heap_is_double(&g_heap, 3, A));
	ck_assert_uint_eq(g_heap.totals.double_frees, 0);
	ck_assert_uint_eq(g_heap.totals.foreign_frees, 1);
	heap_alloc(&g_heap, 4, A, 1, 0);
	heap_free(&g_heap, 5, A, 0, false);
	ck_assert_int_eq(heap_free(&g_heap, 6, A, 0, false), HEAP_FOREIGN);
	check_sums();
	end_heap();
}

/* --- every order of arrival ---------------------------------------------- */

#define EVENTS_MAX 7

struct event {
	bool alloc;
	uint64_t clock, size;
	uint32_t site;
};

struct history {
	struct event event[EVENTS_MAX];
	int count;
};

static void check_history(const struct history *history)
{
	const struct event *last = &history->event[history->count - 1];
	struct heap_values want = { 0 };
	int i;

	for (i = 0; i < history->count; i++) {
		want.alloc_objects += history->event[i].alloc;
		want.alloc_bytes +=
			history->event[i].alloc ? history->event[i].size : 0;
	}
	if (last->alloc) {
		want.inuse_objects = 1;
		want.inuse_bytes = last->size;
		ck_assert_uint_eq(
			heap_get_site(&g_heap, last->site)->now.inuse_bytes,
			last->size);
	}
	ck_assert_mem_eq(&want, &g_heap.totals.now, sizeof(want));
	check_sums();
}

static void run_order(const struct history *history, const int *order)
{
	uint32_t site[3];
	int i;

	new_heap(0);
	for (i = 0; i < 3; i++)
		site[i] = heap_site(&g_heap, 1, 10 + (uint32_t)i);
	ck_assert_uint_eq(site[2], 3);
	for (i = 0; i < history->count; i++) {
		const struct event *event = &history->event[order[i]];

		if (event->alloc)
			heap_alloc(&g_heap, event->clock, A, event->size,
				   event->site);
		else
			heap_free(&g_heap, event->clock, A, 1, false);
	}
	check_history(history);
	end_heap();
}

static void permute(const struct history *history, int *order, int n)
{
	int i, other;

	if (n == history->count) {
		run_order(history, order);
		return;
	}
	for (i = n; i < history->count; i++) {
		other = order[i];
		order[i] = order[n];
		order[n] = other;
		permute(history, order, n + 1);
		order[n] = order[i];
		order[i] = other;
	}
}

/* All histories of one address with up to six events, in all orders, with lost
 * and foreign frees. */
TEST(heap_does_not_depend_on_the_order, EACH(0, 6 * 64))
{
	struct history history = { .count = 1 + _i / 64 };
	int order[EVENTS_MAX], i;

	if (_i % 64 >= 1 << history.count)
		return;
	for (i = 0; i < history.count; i++) {
		order[i] = i;
		history.event[i] = (struct event){
			.alloc = _i >> i & 1,
			.clock = 100 + 10 * (uint64_t)i,
			.size = 1ULL << i,
			.site = 1 + (uint32_t)i % 3,
		};
	}
	permute(&history, order, 0);
}

/* --- the peak ------------------------------------------------------------ */

#define SITES 5

TEST(heap_knows_what_sites_had_at_the_peak, EACH(0, 10))
{
	struct heap_values then[SITES] = { { 0 } };
	uint64_t peak = 0, own[SITES] = { 0 };
	uint64_t live[64] = { 0 };
	uint32_t site[SITES], i, step;

	srandom((unsigned int)_i);
	new_heap(0);
	for (i = 0; i < SITES; i++)
		site[i] = heap_site(&g_heap, i, i + 1);
	for (step = 1; step < 3000; step++) {
		uint32_t n = (uint32_t)random() % 64;

		if (live[n])
			heap_free(&g_heap, step, A + 16 * n, 0, false);
		else
			heap_alloc(&g_heap, step, A + 16 * n,
				   (uint64_t)random() % 1000,
				   site[random() % SITES]);
		live[n] = !live[n];
		for (i = 0; i < SITES; i++)
			own[i] = MAX(own[i], heap_get_site(&g_heap, site[i])
						     ->now.inuse_bytes);
		if (g_heap.totals.now.inuse_bytes > peak) {
			peak = g_heap.totals.now.inuse_bytes;
			for (i = 0; i < SITES; i++)
				then[i] = heap_get_site(&g_heap, site[i])->now;
			ck_assert_uint_eq(g_heap.totals.peak_clock, step);
		}
		for (i = 0; i < SITES; i++) {
			const struct heap_site *one =
				heap_get_site(&g_heap, site[i]);
			struct heap_values got = heap_at_peak(&g_heap, one);

			ck_assert_mem_eq(&got, &then[i], sizeof(got));
			ck_assert_uint_eq(one->peak_bytes, own[i]);
		}
	}
	check_sums();
	end_heap();
}

/* --- sites, memory ------------------------------------------------------- */

TEST(heap_gives_each_stack_of_a_thread_a_site)
{
	uint32_t i;

	new_heap(0);
	ck_assert_uint_eq(heap_site(&g_heap, 0, 0), 0);
	for (i = 1; i < 20000; i++)
		ck_assert_uint_eq(heap_site(&g_heap, i % 7, i), i);
	for (i = 1; i < 20000; i++) {
		ck_assert_uint_eq(heap_site(&g_heap, i % 7, i), i);
		ck_assert_uint_eq(heap_get_site(&g_heap, i)->stack, i);
		ck_assert_uint_eq(heap_get_site(&g_heap, i)->owner, i % 7);
	}
	ck_assert_uint_eq(heap_site_count(&g_heap), 20000);
	end_heap();
}

TEST(heap_counts_on_without_memory)
{
	uint64_t i;

	new_heap(0);
	g_budget.left = 100000;
	for (i = 1; i <= 20000; i++)
		heap_alloc(&g_heap, i, i * 16, 10,
			   heap_site(&g_heap, 1, (uint32_t)i));
	ck_assert_uint_gt(g_heap.totals.untracked, 0);
	ck_assert_uint_gt(g_heap.totals.lost_sites, 0);
	ck_assert_uint_eq(g_heap.totals.now.alloc_bytes, 200000);
	for (; i > 0; i--)
		heap_free(&g_heap, 30000, i * 16, 0, false);
	ck_assert_uint_eq(g_heap.totals.now.inuse_bytes, 0);
	ck_assert_uint_eq(g_heap.totals.double_frees, 0);
	check_sums();
	heap_release(&g_heap);
}

/* --- sampled ------------------------------------------------------------- */

TEST(heap_rounds_parts_to_their_sum)
{
	uint64_t half = 1ULL << (HEAP_FRACTION_BITS - 1), sum = 0, whole = 0;

	new_heap(4096);
	for (int i = 0; i < 101; i++)
		whole += heap_round_next(&g_heap, &sum, half);
	ck_assert_uint_eq(whole, heap_round(&g_heap, 101 * half));
	end_heap();
}

/* The shim's probability p gives an estimate within four sigma, where sigma^2
 * is n * (1 - p) / p * s^2. */
TEST(heap_weighs_samples, EACH(0, 6))
{
	static const uint64_t sizes[] = { 1, 16, 1000, 4096, 20000, 1 << 20 };
	uint64_t size = sizes[_i], period = 4096, n = 200000, i;
	double p = -expm1(-(double)size / (double)period), got, want, sigma;

	srandom(4711);
	new_heap(period);
	for (i = 1; i <= n; i++)
		if ((double)random() / 2147483648.0 < p)
			heap_alloc(&g_heap, i, i * 8, size, 0);
	want = (double)n;
	sigma = sqrt(want * (1 - p) / p);
	got = (double)heap_round(&g_heap, g_heap.totals.now.alloc_objects);
	ck_assert_double_le(fabs(got - want), 4 * sigma + 1 + want * 1e-4);
	got = (double)heap_round(&g_heap, g_heap.totals.now.inuse_bytes) /
	      (double)size;
	ck_assert_double_le(fabs(got - want), 4 * sigma + 1 + want * 1e-4);
	for (i = 1; i <= n; i++)
		heap_free(&g_heap, n + i, i * 8, 0, false);
	ck_assert_uint_eq(g_heap.totals.now.inuse_bytes, 0);
	ck_assert_uint_eq(g_heap.totals.now.inuse_objects, 0);
	end_heap();
}

#define CHURN_LIVE 170

/* Allocates and frees @rounds sampled blocks of 8 KiB; CHURN_LIVE of them live,
 * and twice as many at the peak. */
static void churn(uint64_t rounds, bool peak)
{
	const uint64_t size = 8192;
	double p = -expm1(-(double)size / (double)g_heap.period);
	uint64_t live = 0;

	for (uint64_t i = 1; i <= rounds; i++) {
		bool twice = peak && i > rounds / 2 && i < 3 * rounds / 4;
		uint64_t most = CHURN_LIVE * (twice ? 2 : 1), at;

		for (; live > most; live--)
			heap_free(&g_heap, 2 * i, live * 16, 0, false);
		for (; live < most; live++)
			if ((double)random() / 2147483648.0 < p)
				heap_alloc(&g_heap, 2 * i, (live + 1) * 16,
					   size, 0);
		at = (uint64_t)random() % live + 1;
		heap_free(&g_heap, 2 * i, at * 16, 0, false);
		if ((double)random() / 2147483648.0 < p)
			heap_alloc(&g_heap, 2 * i + 1, at * 16, size, 0);
	}
}

/* The maximum of the samples alone was two to three times too high. */
TEST(heap_has_a_peak_that_is_right_on_average, EACH(0, 2))
{
	const int runs = 300;
	double sum = 0, sum_squares = 0, sum_errors = 0, maxima = 0, mean;
	double want = (double)(CHURN_LIVE * 8192) * (_i ? 2 : 1), spread;
	uint64_t error, peak;

	srandom(4711);
	for (int run = 0; run < runs; run++) {
		new_heap(512 << 10);
		g_heap.table.secret = (uint64_t)random();
		churn(20000, _i);
		for (uint64_t at = 1; at <= 2 * CHURN_LIVE; at++)
			heap_free(&g_heap, 50000, at * 16, 0, false);
		peak = heap_peak_bytes(&g_heap, &error);
		sum += (double)peak;
		sum_squares += (double)peak * (double)peak;
		sum_errors += (double)error * (double)error;
		maxima += (double)heap_round(&g_heap,
					     g_heap.totals.peak.inuse_bytes);
		ck_assert_uint_eq(
			heap_round(&g_heap,
				   heap_scale_peak(
					   &g_heap,
					   g_heap.totals.peak.inuse_bytes)),
			peak);
		end_heap();
	}
	mean = sum / runs;
	spread = sqrt(sum_squares / runs - mean * mean);
	printf("%.0f on average, %.0f by maxima, of %.0f; spread %.0f, error "
	       "%.0f\n",
	       mean, maxima / runs, want, spread, sqrt(sum_errors / runs));
	/* Noise sometimes hides a short peak. */
	ck_assert_double_le(fabs(mean - want), want / (_i ? 5 : 10));
	ck_assert_double_le(fabs(sqrt(sum_errors / runs) - spread), spread / 3);
}

/* Each is an estimate: by folds, and by all samples. */
TEST(heap_has_no_more_at_the_end_than_at_its_peak, EACH(0, 2))
{
	uint64_t error, peak, end;

	srandom(4711);
	for (int run = 0; run < 100; run++) {
		new_heap(512 << 10);
		g_heap.table.secret = (uint64_t)random();
		/* It grows; or has its peak, and is steady then. */
		churn(_i ? 2000 : 1, _i);
		peak = heap_peak_bytes(&g_heap, &error);
		end = heap_round(&g_heap, g_heap.totals.now.inuse_bytes);
		ck_assert_uint_ge(peak, end);
		ck_assert(end == 0 || error > 0);
		ck_assert_uint_eq(
			heap_round(&g_heap,
				   heap_scale_peak(
					   &g_heap,
					   g_heap.totals.peak.inuse_bytes)),
			peak);
		end_heap();
	}
}

/* Blocks above the period are all sampled; an exact heap samples nothing. */
TEST(heap_has_an_exact_peak_of_large_blocks, EACH(0, 2))
{
	uint64_t error;

	new_heap(_i ? 4096 : 0);
	for (uint64_t i = 1; i <= 20; i++)
		heap_alloc(&g_heap, i, i * 8, 1 << 20, 0);
	for (uint64_t i = 1; i <= 20; i++)
		heap_free(&g_heap, 20 + i, i * 8, 0, false);
	ck_assert_uint_eq(heap_peak_bytes(&g_heap, &error), 20 << 20);
	ck_assert_uint_eq(error, 0);
	end_heap();
}
