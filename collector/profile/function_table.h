/* SPDX-License-Identifier: Apache-2.0
 *
 * function_table - what each function of a recording cost, over all threads
 * and processes, by name and module.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_FUNCTION_TABLE_H
#define PERFREC_COLLECTOR_PROFILE_FUNCTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"
#include "collector/replay/kernel_counts.h"
#include "collector/replay/own_counts.h"

struct histogram;
struct own_costs;
struct true_time_sums;

/* The quietest that it was in at the end, in any program. */
enum function_told {
	TOLD_SPAN,
	TOLD_COUNTED,
	TOLD_OFF,
};

struct function_total {
	const char *name, *module;
	uint64_t calls; /* all that are known */
	/* What was measured, and what perfrec did in it. */
	uint64_t measured_self_ns, measured_total_ns;
	struct own_counts own_self, own_total;
	/* Without what perfrec took: by function_table_correct(). */
	uint64_t self_ns, total_ns;
	/* The same, whatever function_table_set_times() makes of those. */
	uint64_t recorded_self_ns, recorded_total_ns;
	uint64_t self_samples; /* of times from samples: their number */
	/* How far the times may be off: by the cost that was subtracted (0 for
	 * the total), or by the number of samples. */
	uint64_t self_error_ns, total_error_ns;
	/* What was sampled or allocated in the function itself, and of that
	 * what was in use at the end. */
	uint64_t cpu_samples, cpu_ns;
	/* What the kernel told of these times; in them unknown_ns is all time
	 * of threads of which it told nothing. */
	struct kernel_counts kernel_self, kernel_total;
	uint64_t alloc_objects, alloc_bytes, inuse_objects, inuse_bytes;
	uint64_t temporary_objects;
	enum function_told state;
	/* How long its calls took; NULL: nothing is known of that. The
	 * table's. */
	struct histogram *durations;
};

/* All zero is an empty table. One thread at a time. */
struct function_table {
	struct pool pool; /* struct function_total */
};

/* Adds @one to the totals of its function. Its strings must outlive the table.
 * 0, or -ENOMEM: nothing was added. */
int function_table_add(struct function_table *table,
		       const struct function_total *one);
/* Adds what is in @durations to the function @name of @module, which is there;
 * else, or without memory, it is lost. It stays the caller's, empty. What it
 * pays with must outlive the table. */
void function_table_add_durations(struct function_table *table,
				  const char *name, const char *module,
				  struct histogram *durations);
/* Whether the durations of all recorded calls of @total are known. */
bool function_table_knows_durations(const struct function_total *total);
/* The part @part, from 0 to 1, of the on-CPU time of all totals becomes
 * unknown. After function_table_correct(). */
void function_table_doubt(struct function_table *table, double part);
/* Sets self_ns and total_ns of all totals (true_time.h), takes the same cost
 * off the durations of their calls, and sets *@sums. Once, before they are
 * sorted.
 */
void function_table_correct(struct function_table *table,
			    const struct own_costs *costs,
			    struct true_time_sums *sums);

/* Times of a function that come from samples and from off-CPU stacks. */
struct function_times {
	uint64_t samples, on_cpu_ns, runnable_ns, blocked_ns;
};

/* Sets *@number to the number of the function @name of @module, which is added
 * if there is none. The strings must outlive the table. 0 or -ENOMEM. */
int function_table_number(struct function_table *table, const char *name,
			  const char *module, uint32_t *number);
/* Whether the function @name of @module has calls, or is known to be muted. */
bool function_table_has_hooks(const struct function_table *table,
			      const char *name, const char *module);
/* How many functions there are: numbers are below this. */
uint32_t function_table_count(const struct function_table *table);
/*
 * Replaces the times of all functions by @self and @total, one for each number.
 * A sample stands for @period_ns. After function_table_correct(), once, before
 * the table is sorted.
 */
void function_table_set_times(struct function_table *table,
			      const struct function_times *self,
			      const struct function_times *total,
			      uint64_t period_ns);
/* All totals, as they lie; sets *@count to their number. They are the table's,
 * and valid until one is added. */
const struct function_total *function_table_all(
	const struct function_table *table, size_t *count);
/* Sorts the totals by self time, the greatest first, and returns the first of
 * *@count. They are the table's, which is only released from then on. */
const struct function_total *function_table_sort(struct function_table *table,
						 size_t *count);
void function_table_release(struct function_table *table);

#endif
