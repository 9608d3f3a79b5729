/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/profile/function_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/hash.h"
#include "collector/base/histogram.h"
#include "collector/base/pool.h"
#include "collector/profile/true_time.h"
#include "shared/compiler.h"

static uint64_t hash_function_total(const void *item)
{
	const struct function_total *one = item;

	return hash_text(hash_text(HASH_START, one->name) * 31, one->module);
}

static bool is_same_function_total(const void *a, const void *b)
{
	const struct function_total *x = a, *y = b;

	return !strcmp(x->name, y->name) && !strcmp(x->module, y->module);
}

static const struct pool_key function_key = { hash_function_total,
					      is_same_function_total };

static struct function_total *total_at(const struct function_table *table,
				       uint32_t number)
{
	return (struct function_total *)table->pool.items + number;
}

int function_table_number(struct function_table *table, const char *name,
			  const char *module, uint32_t *number)
{
	const struct function_total empty = { .name = name, .module = module };

	if (!table->pool.item_bytes)
		pool_init_key(&table->pool, NULL, sizeof(empty), &function_key);
	return MIN(pool_intern(&table->pool, &empty, number), 0);
}

int function_table_add(struct function_table *table,
		       const struct function_total *one)
{
	struct function_total *entry;
	uint32_t number;

	if (function_table_number(table, one->name, one->module, &number) < 0)
		return -ENOMEM;
	entry = total_at(table, number);
	entry->calls += one->calls;
	entry->measured_self_ns += one->measured_self_ns;
	entry->measured_total_ns += one->measured_total_ns;
	own_counts_add(&entry->own_self, &one->own_self);
	own_counts_add(&entry->own_total, &one->own_total);
	entry->cpu_samples += one->cpu_samples;
	entry->cpu_ns += one->cpu_ns;
	kernel_counts_add(&entry->kernel_self, &one->kernel_self);
	kernel_counts_add(&entry->kernel_total, &one->kernel_total);
	entry->alloc_objects += one->alloc_objects;
	entry->alloc_bytes += one->alloc_bytes;
	entry->inuse_objects += one->inuse_objects;
	entry->inuse_bytes += one->inuse_bytes;
	entry->temporary_objects += one->temporary_objects;
	entry->state = MAX(entry->state, one->state);
	entry->late |= one->late;
	return 0;
}

void function_table_add_durations(struct function_table *table,
				  const char *name, const char *module,
				  struct histogram *durations)
{
	const struct function_total key = { .name = name, .module = module };
	struct function_total *entry;
	uint32_t number;

	if (!table->pool.item_bytes || !pool_find(&table->pool, &key, &number))
		return;
	entry = total_at(table, number);
	if (!entry->durations) {
		entry->durations = calloc(1, sizeof(*entry->durations));
		if (!entry->durations)
			return;
		entry->durations->budget = durations->budget;
	}
	histogram_merge(entry->durations, durations);
}

bool function_table_knows_durations(const struct function_total *total)
{
	const struct histogram *durations = total->durations;

	return durations && total->own_self.inner && !durations->missed &&
	       histogram_total(durations) == total->own_self.inner;
}

/* Returns the ns that recorded calls took beyond inner_ns, because most calls
 * were only counted. */
static int64_t rare_ns(const struct function_total *one,
		       const struct own_costs *costs)
{
	double recorded = (double)one->own_self.inner;

	if (!one->calls || one->own_self.inner >= one->calls)
		return 0;
	return (int64_t)MIN(costs->rare_ns * recorded *
				    (1 - recorded / (double)one->calls),
			    1e18);
}

static uint64_t correct(uint64_t measured_ns, int64_t more_ns,
			const struct own_costs *costs,
			const struct own_counts *counts, uint64_t *below_ns)
{
	int64_t ns = (int64_t)measured_ns;

	/* A repaired clock may leave a negative sum. It wraps and stays
	 * unchanged. */
	ns = true_time(ns, costs, counts, below_ns);
	return (uint64_t)(ns > 0 ? MAX(ns - more_ns, 0) : ns);
}

/* Fits the kernel's times of @one into its times. Fits those of its callees
 * separately, so no total is below its self time. */
static void fit_kernel(struct function_total *one)
{
	struct kernel_counts *self = &one->kernel_self;
	struct kernel_counts *total = &one->kernel_total;
	struct kernel_counts rest = *total;
	uint64_t measured_ns = one->measured_total_ns;
	uint64_t wait_ns = one->own_total.wait_ns;

	kernel_counts_take(&rest.runnable_ns, self->runnable_ns);
	kernel_counts_take(&rest.blocked_ns, self->blocked_ns);
	kernel_counts_take(&rest.unknown_ns, self->unknown_ns);
	kernel_counts_take(&measured_ns, one->measured_self_ns);
	kernel_counts_take(&wait_ns, one->own_self.wait_ns);
	kernel_counts_fit(self, one->measured_self_ns, one->self_ns,
			  one->own_self.wait_ns);
	kernel_counts_fit(&rest, measured_ns, one->total_ns - one->self_ns,
			  wait_ns);
	total->runnable_ns = self->runnable_ns + rest.runnable_ns;
	total->blocked_ns = self->blocked_ns + rest.blocked_ns;
	total->unknown_ns = self->unknown_ns + rest.unknown_ns;
}

/* --- durations ----------------------------------------------------------- */

/* Returns the ns that stand for a call in @bucket; they are exact if it only
 * has the maximum. */
static double bucket_ns(const struct histogram *durations, uint32_t bucket,
			uint64_t count)
{
	uint64_t middle =
		histogram_low(bucket) + (histogram_width(bucket) - 1) / 2;

	if (count == 1 && bucket == histogram_bucket(durations->max))
		return (double)durations->max;
	return (double)MIN(middle, durations->max);
}

struct duration_sums {
	double octave_ns[HISTOGRAM_OCTAVES], ns, weight;
};

static void sum_durations(const struct histogram *durations,
			  struct duration_sums *sums)
{
	uint32_t octave = HISTOGRAM_OCTAVES;
	uint64_t count;

	*sums = (struct duration_sums){ .ns = 0 };
	for (uint32_t bucket = 0; histogram_next(durations, &bucket, &count);
	     bucket++) {
		double ns = bucket_ns(durations, bucket, count) * (double)count;

		if (bucket / HISTOGRAM_OCTAVE != octave)
			sums->weight +=
				(double)histogram_weight(durations, bucket);
		octave = bucket / HISTOGRAM_OCTAVE;
		sums->octave_ns[octave] += ns;
		sums->ns += ns;
	}
}

/* Subtracts from the calls of @one the cost that was subtracted from their
 * total, so the columns of a function agree: each record costs the same. The
 * number of records is known for each octave of durations, whose calls share it
 * by time, so a call that slept keeps its time among calls with many callees.
 * The total of a recursive function only has outermost calls, so the cost of
 * all calls is larger in proportion. */
static void correct_durations(struct function_total *one)
{
	struct histogram *durations = one->durations, corrected = { 0 };
	uint64_t measured = one->measured_total_ns - one->own_total.wait_ns;
	struct duration_sums sums;
	double each;
	uint64_t count;

	if (!durations || measured > INT64_MAX || measured <= one->total_ns)
		return;
	sum_durations(durations, &sums);
	each = (double)(measured - one->total_ns) / MAX(sums.weight, 1) *
	       MAX(sums.ns / (double)measured, 1);
	corrected.budget = durations->budget;
	for (uint32_t bucket = 0; histogram_next(durations, &bucket, &count);
	     bucket++) {
		double ns = bucket_ns(durations, bucket, count);
		double part = each *
			      (double)histogram_weight(durations, bucket) /
			      MAX(sums.octave_ns[bucket / HISTOGRAM_OCTAVE], 1);
		double left = ns * (1 - MIN(part, 1)) + 0.5;

		histogram_add_many(&corrected,
				   MIN((uint64_t)left, one->total_ns), count);
	}
	corrected.missed += durations->missed;
	histogram_release(durations);
	*durations = corrected;
}

void function_table_correct(struct function_table *table,
			    const struct own_costs *costs,
			    struct true_time_sums *sums)
{
	struct function_total *totals = table->pool.items;
	uint64_t of_totals = 0;

	*sums = (struct true_time_sums){ 0 };
	for (size_t i = 0; i < table->pool.count; i++) {
		struct function_total *one = &totals[i];
		int64_t more_ns = rare_ns(one, costs);

		one->self_ns = correct(one->measured_self_ns, more_ns, costs,
				       &one->own_self, &sums->below_ns);
		sums->subtracted_ns += one->measured_self_ns - one->self_ns;
		one->self_error_ns = (uint64_t)MIN(
			true_time_cost(costs, &one->own_self) * costs->error,
			(double)one->measured_self_ns);
		one->total_ns = correct(one->measured_total_ns, more_ns, costs,
					&one->own_total, &of_totals);
		/* The halves may not fit both. */
		one->total_ns = MAX(one->total_ns, one->self_ns);
		one->recorded_self_ns = one->self_ns;
		one->recorded_total_ns = one->total_ns;
		correct_durations(one);
		fit_kernel(one);
	}
}

bool function_table_has_hooks(const struct function_table *table,
			      const char *name, const char *module)
{
	const struct function_total key = { .name = name, .module = module };
	const struct function_total *total;
	uint32_t number;

	if (!table->pool.item_bytes || !pool_find(&table->pool, &key, &number))
		return false;
	total = total_at(table, number);
	return total->calls || total->state != TOLD_SPAN || total->late;
}

uint32_t function_table_count(const struct function_table *table)
{
	return table->pool.count;
}

/* Returns the standard error of @times. Each sample is a draw, so the deviation
 * of n samples is sqrt(n). Runnable time was spread like samples; waits were
 * measured. With 3 expected samples, one of 20 cases has none. */
static uint64_t sampling_error(const struct function_times *times,
			       uint64_t period_ns)
{
	uint64_t ns = times->on_cpu_ns + times->runnable_ns;

	if (!times->samples)
		return 3 * period_ns;
	return (uint64_t)((double)MAX(ns, period_ns) /
			  sqrt((double)times->samples));
}

static uint64_t set_kernel(struct kernel_counts *kernel,
			   const struct function_times *times)
{
	kernel->runnable_ns = times->runnable_ns;
	kernel->blocked_ns = times->blocked_ns;
	kernel->unknown_ns = 0;
	kernel->spread_ns = 0;
	return times->on_cpu_ns + times->runnable_ns + times->blocked_ns;
}

void function_table_set_times(struct function_table *table,
			      const struct function_times *self,
			      const struct function_times *total,
			      uint64_t period_ns)
{
	struct function_total *totals = table->pool.items;

	for (size_t i = 0; i < table->pool.count; i++) {
		struct function_total *one = &totals[i];

		one->self_ns = set_kernel(&one->kernel_self, &self[i]);
		one->total_ns = set_kernel(&one->kernel_total, &total[i]);
		one->cpu_samples = self[i].samples;
		one->cpu_ns = self[i].on_cpu_ns;
		one->self_samples = self[i].samples;
		one->self_error_ns = sampling_error(&self[i], period_ns);
		one->total_error_ns = sampling_error(&total[i], period_ns);
	}
}

static void doubt(struct kernel_counts *counts, uint64_t ns, double part)
{
	uint64_t on_ns = ns - kernel_counts_off_ns(counts);

	counts->unknown_ns += MIN((uint64_t)((double)on_ns * part), on_ns);
}

void function_table_doubt(struct function_table *table, double part)
{
	struct function_total *totals = table->pool.items;

	for (size_t i = 0; i < table->pool.count; i++) {
		struct function_total *one = &totals[i];

		doubt(&one->kernel_self, one->self_ns, part);
		doubt(&one->kernel_total, one->total_ns, part);
	}
}

const struct function_total *function_table_all(
	const struct function_table *table, size_t *count)
{
	*count = table->pool.count;
	return table->pool.items;
}

static int by_self(const void *a, const void *b)
{
	const struct function_total *left = a, *right = b;
	int order;

	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	order = strcmp(left->name, right->name);
	return order ? order : strcmp(left->module, right->module);
}

const struct function_total *function_table_sort(struct function_table *table,
						 size_t *count)
{
	*count = table->pool.count;
	if (*count)
		qsort(table->pool.items, *count, sizeof(struct function_total),
		      by_self);
	return table->pool.items;
}

void function_table_release(struct function_table *table)
{
	struct function_total *totals = table->pool.items;

	for (size_t i = 0; i < table->pool.count; i++) {
		if (totals[i].durations)
			histogram_release(totals[i].durations);
		free(totals[i].durations);
	}
	pool_release(&table->pool);
}
