/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/lock_waiters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/read/lock_sums.h"

#define MEMORY_MAX (UINT64_C(1) << 30)

struct waiter_walk {
	struct lock_waiters *waiters;
	const struct wait_stacks *stacks;
	struct lock_sums sums; /* by waiter */
	uint32_t *seen; /* by text of a function: row of sums + 1 */
	uint32_t seen_room;
};

/* Returns 1 once for each function of the stack of row @number, then 0; or
 * -ENOMEM. */
static int is_new_function(struct waiter_walk *walk, uint32_t function,
			   uint32_t number)
{
	uint32_t *seen = grow_array_at(walk->seen, walk->seen_room, function);

	if (!seen)
		return -ENOMEM;
	if (*seen == number + 1)
		return 0;
	*seen = number + 1;
	return 1;
}

static int add_waiter_row(struct lock_waiters *waiters, uint32_t function,
			  const struct lock_row *from, uint32_t *number)
{
	const struct waiter_row key = { .function = function };
	struct waiter_row *row;

	if (pool_intern(&waiters->rows, &key, number) < 0)
		return -ENOMEM;
	row = &((struct waiter_row *)waiters->rows.items)[*number];
	row->waits += from->waits;
	row->blocked_ns += from->blocked_ns;
	row->own_ns += from->own_ns;
	row->hand_over_ns += from->hand_over_ns;
	row->outside_ns += from->outside_ns;
	row->timed_out_ns += from->timed_out_ns;
	row->ended_ns += from->ended_ns;
	row->unknown_ns += from->unknown_ns;
	return 0;
}

/* Adds row @number of the sums, with its @count parts from @parts on, to each
 * function of its stack. */
static int add_to_functions(struct waiter_walk *walk, uint32_t number,
			    const struct lock_part *parts, uint32_t count)
{
	const struct lock_row *row =
		&((const struct lock_row *)walk->sums.rows.items)[number];
	const struct wait_frame *frame =
		wait_stacks_frame(walk->stacks, row->stack);

	for (; frame; frame = wait_stacks_frame(walk->stacks, frame->caller)) {
		struct waiter_part key = { .held = row->held };
		int got = is_new_function(walk, frame->function, number);
		uint32_t at;

		if (got > 0 && add_waiter_row(walk->waiters, frame->function,
					      row, &key.row))
			return -ENOMEM;
		for (uint32_t i = 0; got > 0 && i < count; i++) {
			if (!parts[i].ns)
				continue;
			key.function = parts[i].function;
			key.thread = parts[i].thread;
			key.tid = parts[i].tid;
			if (pool_intern(&walk->waiters->parts, &key, &at) < 0)
				return -ENOMEM;
			((struct waiter_part *)walk->waiters->parts.items)[at]
				.ns += parts[i].ns;
		}
		if (got < 0)
			return got;
	}
	return 0;
}

static int compare_parts_by_row(const void *left, const void *right)
{
	const struct lock_part *a = left, *b = right;

	return (a->row > b->row) - (a->row < b->row);
}

static int compare_waiter_parts(const void *left, const void *right)
{
	const struct waiter_part *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int add_waiters(struct waiter_walk *walk)
{
	/* No part is looked up by its key from here on. */
	struct lock_part *parts = walk->sums.parts.items;
	const uint32_t count = walk->sums.parts.count;
	uint32_t at = 0;

	if (count)
		qsort(parts, count, sizeof(*parts), compare_parts_by_row);
	for (uint32_t i = 0; i < walk->sums.rows.count; i++) {
		uint32_t first = at;

		while (at < count && parts[at].row == i)
			at++;
		if (add_to_functions(walk, i, parts + first, at - first))
			return -ENOMEM;
	}
	if (walk->waiters->parts.count)
		qsort(walk->waiters->parts.items, walk->waiters->parts.count,
		      sizeof(struct waiter_part), compare_waiter_parts);
	return 0;
}

int lock_waiters_make(struct trace_waits *waits,
		      const struct wait_stacks *stacks,
		      const struct time_range *range, const char *thread,
		      struct lock_waiters *out)
{
	struct waiter_walk walk = { .waiters = out, .stacks = stacks };
	bool met;
	int err = lock_sums_make(waits, range, thread, LOCK_SUMS_BY_WAITER,
				 &met, &walk.sums);

	*out = (struct lock_waiters){ .budget = { .left = MEMORY_MAX } };
	pool_init(&out->rows, &out->budget, sizeof(struct waiter_row),
		  offsetof(struct waiter_row, waits));
	pool_init(&out->parts, &out->budget, sizeof(struct waiter_part),
		  offsetof(struct waiter_part, ns));
	if (!err)
		err = add_waiters(&walk);
	lock_sums_release(&walk.sums);
	free(walk.seen);
	if (err)
		lock_waiters_release(out);
	return err;
}

void lock_waiters_release(struct lock_waiters *waiters)
{
	pool_release(&waiters->rows);
	pool_release(&waiters->parts);
}

uint32_t lock_waiters_parts(const struct lock_waiters *waiters, uint32_t number,
			    const struct waiter_part **first)
{
	const struct waiter_part *parts = waiters->parts.items;
	uint32_t count = waiters->parts.count;
	uint32_t from = search_first(i, count, parts[i].row >= number);
	uint32_t to = search_first(i, count, parts[i].row > number);

	*first = parts + from;
	return to - from;
}
