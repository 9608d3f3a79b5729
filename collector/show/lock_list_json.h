/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_list - the locks of a trace in an order, with the threads that others waited
 * for: as JSON, and for tables. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_SHOW_LOCK_LIST_JSON_H
#define PERFREC_COLLECTOR_SHOW_LOCK_LIST_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/lock_sums.h"
#include "collector/read/lock_waiters.h"
#include "collector/read/summary_read.h"
#include "collector/read/wait_stacks.h"

struct lock_list {
	struct trace_waits *waits;
	struct lock_sums sums;
	uint32_t *order; /* numbers of rows */
	struct lock_part *parts; /* sorted by row, then by time */
	bool has_processes; /* locks of several */
	bool has_own; /* by lock_list_read_own() */

	/* By lock_list_read_stacks(). Rows and parts of sums have stacks if they
	 * are sums by holder. */
	bool has_stacks;
	struct wait_stacks stacks;
	struct lock_waiters waiters;
	uint32_t *functions; /* numbers of waiters.rows, most blocked first */
};

/* If hooks took 2 % of the CPU time of @summary or more, estimates how much of
 * list->waits is due to that (own_waits_read()), before sums are made of them.
 * Returns 0, or -errno as own_waits_read() does. */
int lock_list_read_own(struct lock_list *list, const struct summary *summary,
		       const char *path, const struct read_progress *progress);

/* Reads the calls of the trace at @path, and sums up what each function waited for.
 * list->waits were read from the same trace; @thread and @range are those of
 * lock_sums_make().
 * Returns 0, or -errno and changes nothing else. */
int lock_list_read_stacks(struct lock_list *list, const char *path,
			  const struct time_range *range, const char *thread,
			  const struct read_progress *progress);

/* Sorts the locks of list->sums by @key: "blocked", "waits", "max" or "name". Returns 0
 * or -ENOMEM. The caller ends the list with lock_list_release(). */
int lock_list_sort(struct lock_list *list, const char *key);
/* Also ends list->waits and list->sums. @list may be all zero. */
void lock_list_release(struct lock_list *list);

const char *lock_list_text(const struct lock_list *list, uint32_t number);
const struct lock_row *lock_list_row(const struct lock_list *list,
				     uint32_t number);
/* Sets *@first to the first part of row @number. Returns their number. */
size_t lock_list_parts(const struct lock_list *list, uint32_t number,
		       const struct lock_part **first);

/* Returns the object of perfrec report --view lock --json, with the first @limit locks
 * and functions (0: all), or NULL without memory. */
json_t *lock_list_json(const struct lock_list *list, size_t limit);

#endif
