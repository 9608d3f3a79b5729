/* SPDX-License-Identifier: Apache-2.0
 *
 * function_table - the cost of each function in a recording, over all threads
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

/* The quietest state at the end, over all programs. */
enum function_told {
	TOLD_SPAN,
	TOLD_COUNTED,
	TOLD_OFF,
};

struct function_total {
	const char *name, *module;
	uint64_t calls; /* all known calls */
	/* Measured times, and the events of perfrec inside. */
	uint64_t measured_self_ns, measured_total_ns;
	struct own_counts own_self, own_total;
	/* Without perfrec's own time: set by function_table_correct(). */
	uint64_t self_ns, total_ns;
	/* Copies that function_table_set_times() does not change. */
	uint64_t recorded_self_ns, recorded_total_ns;
	uint64_t self_samples; /* number of samples behind sampled times */
	/* Errors of the times: from the subtracted cost (0 for the total), or
	 * from the number of samples. */
	uint64_t self_error_ns, total_error_ns;
	/* Samples and allocations of the function itself, and the part in use
	 * at the end. */
	uint64_t cpu_samples, cpu_ns;
	/* The kernel's parts of these times; unknown_ns is the time of threads
	 * without reports. */
	struct kernel_counts kernel_self, kernel_total;
	uint64_t alloc_objects, alloc_bytes, inuse_objects, inuse_bytes;
	uint64_t temporary_objects;
	enum function_told state;
	bool late; /* connected while a program ran, so calls are missing */
	/* Durations of its calls, or NULL. Owned by the table. */
	struct histogram *durations;
};

/* All zero: empty. One thread at a time. */
struct function_table {
	struct pool pool; /* struct function_total */
};

/* Adds @one to the totals of its function. Its strings must outlive the table.
 * Returns 0, or -ENOMEM and adds nothing. */
int function_table_add(struct function_table *table,
		       const struct function_total *one);
/* Moves @durations to the existing function @name of @module; drops them if
 * there is none or memory is short. @durations is empty afterwards. Its budget
 * must outlive the table. */
void function_table_add_durations(struct function_table *table,
				  const char *name, const char *module,
				  struct histogram *durations);
/* Returns true if the durations of all recorded calls of @total are known. */
bool function_table_knows_durations(const struct function_total *total);
/* Makes the part @part (0 to 1) of all on-CPU times unknown. Call it after
 * function_table_correct(). */
void function_table_doubt(struct function_table *table, double part);
/* Sets self_ns and total_ns of all totals (true_time.h), subtracts the same
 * cost from the durations of their calls, and sets *@sums. Call it once, before
 * sorting. */
void function_table_correct(struct function_table *table,
			    const struct own_costs *costs,
			    struct true_time_sums *sums);

/* Times of a function from samples and off-CPU stacks. */
struct function_times {
	uint64_t samples, on_cpu_ns, runnable_ns, blocked_ns;
};

/* Sets *@number to the number of the function @name of @module, and adds the
 * function if necessary. The strings must outlive the table. Returns 0 or
 * -ENOMEM. */
int function_table_number(struct function_table *table, const char *name,
			  const char *module, uint32_t *number);
/* Returns true if the function @name of @module has calls or is muted. */
bool function_table_has_hooks(const struct function_table *table,
			      const char *name, const char *module);
/* Returns the number of functions; their numbers are below it. */
uint32_t function_table_count(const struct function_table *table);
/* Replaces the times of all functions by @self and @total, indexed by function
 * number. A sample stands for @period_ns. Call it once, after
 * function_table_correct() and before sorting. */
void function_table_set_times(struct function_table *table,
			      const struct function_times *self,
			      const struct function_times *total,
			      uint64_t period_ns);
/* Returns all totals, unsorted, *@count of them. The table owns them; they are
 * valid until a total is added. */
const struct function_total *function_table_all(
	const struct function_table *table, size_t *count);
/* Sorts the totals by self time, largest first. Returns the first of *@count;
 * the table owns them. Afterwards the table may only be released. */
const struct function_total *function_table_sort(struct function_table *table,
						 size_t *count);
void function_table_release(struct function_table *table);

#endif
