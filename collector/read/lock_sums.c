/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_sums - sweeps the waits and holds of a lock by time. While the number of
 * waiters and of holders is constant, each holder gets the same time, so one sum
 * is enough for all: the share of a hold is the growth of the sum from its start
 * to its end. That takes N log N steps, however many overlap.
 */
#include "collector/read/lock_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/read/thread_choice.h"
#include "shared/compiler.h"

#define MEMORY_MAX (UINT64_C(1) << 30)
#define PROCESS_NONE UINT32_MAX
#define NO_SHARE SIZE_MAX

struct lock_first {
	uint32_t process, lock;
	uint32_t row;
};

/* In the order of events at the same time. */
enum edge_kind { HOLD_ENDS, HOLD_BEGINS, WAIT_ENDS, WAIT_BEGINS };

struct lock_edge {
	uint64_t ns;
	uint32_t row;
	enum edge_kind kind;
	uint64_t from_ns; /* WAIT_ENDS: begin of the wait */
	bool is_unsure; /* of a wait: who ended it is unknown */
	size_t share; /* of a hold; NO_SHARE: a wait */
};

/* A hold, as far as the waits of a row have waited for it. */
struct hold_share {
	size_t hold;
	uint32_t row;
	uint64_t ns; /* until it ends: share_ns at its start */
};

struct lock_edges {
	struct lock_edge *list;
	size_t count, room;
	struct hold_share *shares;
	size_t share_count, share_room;
};

struct lock_sweep {
	uint64_t ns;
	uint64_t waiters, holders;
	uint64_t share_ns; /* time of one holder that held the lock always */
	uint64_t released_ns; /* last time without a holder began */
	uint64_t left; /* waiters since then; one of them may be next */
	uint64_t unsure; /* waiters that are never among them */
};

static uint32_t process_of(const struct trace_track *thread)
{
	return thread->process ? thread->process->number : PROCESS_NONE;
}

/* --- rows ----------------------------------------------------------------- */

static struct lock_row *lock_row_at(const struct lock_sums *sums,
				    uint32_t number)
{
	return &((struct lock_row *)sums->rows.items)[number];
}

static struct lock_row lock_row_key(const struct lock_sums *sums,
				    const struct trace_wait *wait)
{
	return (struct lock_row){ .process = process_of(wait->thread),
				  .lock = wait->lock,
				  .stack = sums->by == LOCK_SUMS_BY_WAITER
						   ? wait->stack
						   : 0 };
}

/* Returns the first row of the lock, or LOCK_ROW_NONE. */
static uint32_t first_lock_row(const struct lock_sums *sums,
			       const struct trace_track *thread, uint32_t lock)
{
	const struct lock_first key = { .process = process_of(thread),
					.lock = lock };
	uint32_t number;

	return lock && pool_find(&sums->first, &key, &number)
		       ? ((const struct lock_first *)sums->first.items)[number]
				 .row
		       : LOCK_ROW_NONE;
}

/* Finds the row of @wait, or adds it to those of its lock. */
static int intern_lock_row(struct lock_sums *sums,
			   const struct trace_wait *wait, struct lock_row **row)
{
	const struct lock_row key = lock_row_key(sums, wait);
	uint32_t number, first;
	int got = pool_intern(&sums->rows, &key, &number);

	if (got < 0)
		return got;
	*row = lock_row_at(sums, number);
	if (!got)
		return 0;
	(*row)->range = (struct time_range){ UINT64_MAX, 0 };
	(*row)->locks = 1;
	got = pool_intern(&sums->first,
			  &(struct lock_first){ .process = key.process,
						.lock = key.lock,
						.row = LOCK_ROW_NONE },
			  &first);
	if (got < 0)
		return got;
	(*row)->next = ((struct lock_first *)sums->first.items)[first].row;
	((struct lock_first *)sums->first.items)[first].row = number;
	return 0;
}

static int count_part(struct lock_sums *sums, const struct lock_part *part)
{
	struct lock_part *known;
	uint32_t number;

	if (pool_intern(&sums->parts,
			&(struct lock_part){ .row = part->row,
					     .function = part->function,
					     .thread = part->thread,
					     .tid = part->tid,
					     .stack = part->stack },
			&number) < 0)
		return -ENOMEM;
	known = &((struct lock_part *)sums->parts.items)[number];
	known->times += part->times;
	known->ns += part->ns;
	return 0;
}

static uint32_t lock_thread_name(struct trace_waits *waits,
				 const struct trace_track *thread)
{
	const char *name = trace_reader_text(waits->reader, thread->name);

	return trace_texts_number(&waits->texts, (const uint8_t *)name,
				  strlen(name));
}

static int count_waker(struct lock_sums *sums, struct trace_waits *waits,
		       const struct trace_wait *wait, uint32_t row, uint64_t ns)
{
	struct lock_row *of = &((struct lock_row *)sums->rows.items)[row];
	struct lock_part part = { .row = row,
				  .function = wait->woken_in,
				  .thread = wait->woken_by,
				  .tid = (uint32_t)wait->woken_tid,
				  .times = 1,
				  .ns = ns };

	switch (wait->end) {
	case WAIT_END_THREAD:
		if (wait->waker) {
			part.thread = lock_thread_name(waits, wait->waker);
			part.tid = (uint32_t)wait->waker->tid;
		}
		return count_part(sums, &part);
	case WAIT_END_OUTSIDE:
		of->outside_ns += ns;
		break;
	case WAIT_END_TIMEOUT:
		of->timed_out_ns += ns;
		break;
	case WAIT_END_PROCESS:
		of->ended_ns += ns;
		break;
	case WAIT_END_UNKNOWN:
		of->unknown_ns += ns;
		break;
	}
	return 0;
}

/* --- the sweep ------------------------------------------------------------ */

static int compare_lock_edges(const void *left, const void *right)
{
	const struct lock_edge *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

static void sweep_locks(struct lock_sums *sums, struct lock_edges *edges)
{
	struct lock_sweep sweep = { 0 };
	struct hold_share *shares = edges->shares;

	if (edges->count)
		qsort(edges->list, edges->count, sizeof(*edges->list),
		      compare_lock_edges);
	for (size_t i = 0; i < edges->count; i++) {
		const struct lock_edge *edge = &edges->list[i];
		struct lock_row *row =
			&((struct lock_row *)sums->rows.items)[edge->row];
		uint64_t took;

		if (!i || edge->row != edge[-1].row)
			sweep = (struct lock_sweep){ .ns = edge->ns };
		took = edge->ns - sweep.ns;
		sweep.ns = edge->ns;
		if (sweep.holders) {
			sweep.share_ns += sweep.waiters * took / sweep.holders;
			/* Less than a ns for each holder. */
			row->unknown_ns += sweep.waiters * took % sweep.holders;
		} else {
			row->hand_over_ns += sweep.left * took;
			row->unknown_ns += (sweep.waiters - sweep.left) * took;
		}
		switch (edge->kind) {
		case HOLD_ENDS:
			shares[edge->share].ns =
				sweep.share_ns - shares[edge->share].ns;
			if (!--sweep.holders) {
				sweep.left = sweep.waiters - sweep.unsure;
				sweep.released_ns = edge->ns;
			}
			break;
		case HOLD_BEGINS:
			shares[edge->share].ns = sweep.share_ns;
			sweep.holders++;
			break;
		case WAIT_ENDS:
			sweep.waiters--;
			if (edge->is_unsure)
				sweep.unsure--;
			else if (sweep.left &&
				 edge->from_ns < sweep.released_ns)
				sweep.left--;
			break;
		case WAIT_BEGINS:
			sweep.waiters++;
			sweep.unsure += edge->is_unsure;
			break;
		}
	}
}

static int add_edges(struct lock_sums *sums, struct lock_edges *edges,
		     uint32_t row, const struct time_range *cut, size_t share,
		     bool is_unsure)
{
	if (grow_array_from(&sums->budget, edges->list, edges->room,
			    edges->count + 2))
		return -ENOMEM;
	edges->list[edges->count++] = (struct lock_edge){
		.ns = cut->from_ns,
		.row = row,
		.is_unsure = is_unsure,
		.kind = share != NO_SHARE ? HOLD_BEGINS : WAIT_BEGINS,
		.share = share,
	};
	edges->list[edges->count++] = (struct lock_edge){
		.ns = cut->to_ns,
		.row = row,
		.is_unsure = is_unsure,
		.kind = share != NO_SHARE ? HOLD_ENDS : WAIT_ENDS,
		.from_ns = cut->from_ns,
		.share = share,
	};
	return 0;
}

/* --- waits and holds ------------------------------------------------------ */

/* Returns false if nothing is left. */
static bool cut_to_range(const struct time_range *range, uint64_t from_ns,
			 uint64_t to_ns, struct time_range *cut)
{
	cut->from_ns = MAX(range->from_ns, from_ns);
	cut->to_ns = MIN(range->to_ns, to_ns);
	return cut->from_ns < cut->to_ns;
}

static int add_hold(struct lock_sums *sums, size_t hold, uint32_t row,
		    const struct time_range *cut, struct lock_edges *edges)
{
	struct lock_row *of = lock_row_at(sums, row);
	const uint64_t took = cut->to_ns - cut->from_ns;

	of->held = true;
	/* By waiter, each hold is one of all rows of its lock. */
	if (sums->by == LOCK_SUMS_BY_WAITER &&
	    (cut->from_ns >= of->range.to_ns ||
	     cut->to_ns <= of->range.from_ns))
		return 0;
	of->holds++;
	of->held_ns += took;
	of->longest_ns = MAX(of->longest_ns, took);
	if (grow_array_from(&sums->budget, edges->shares, edges->share_room,
			    edges->share_count + 1))
		return -ENOMEM;
	edges->shares[edges->share_count] =
		(struct hold_share){ .hold = hold, .row = row };
	return add_edges(sums, edges, row, cut, edges->share_count++, false);
}

/* Leaves out the holds of locks without a counted wait. */
static int add_holds(struct lock_sums *sums, const struct trace_waits *waits,
		     const struct time_range *range, struct lock_edges *edges)
{
	for (size_t i = 0; i < waits->hold_count; i++) {
		const struct trace_hold *hold = &waits->holds[i];
		uint32_t row = first_lock_row(sums, hold->thread, hold->lock);
		struct time_range cut;

		if (!cut_to_range(range, hold->from_ns, hold->to_ns, &cut))
			continue;
		for (; row != LOCK_ROW_NONE; row = lock_row_at(sums, row)->next)
			if (add_hold(sums, i, row, &cut, edges))
				return -ENOMEM;
	}
	return 0;
}

struct wait_choice {
	struct time_range range;
	const char *thread;
	struct thread_choice *choices; /* by number of the track */
	uint32_t choice_room;
};

/* Returns 1, 0 or -ENOMEM. */
static int is_wait_chosen(struct wait_choice *choice,
			  const struct trace_waits *waits,
			  const struct trace_wait *wait, struct time_range *cut)
{
	uint32_t number = wait->thread->number;

	if (choice->thread) {
		if (grow_array_zeroed(choice->choices, choice->choice_room,
				      (size_t)number + 1))
			return -ENOMEM;
		if (!thread_choice_has(&choice->choices[number], waits->reader,
				       choice->thread, wait->thread, false))
			return 0;
	}
	return cut_to_range(&choice->range, wait->from_ns, wait->to_ns, cut);
}

static int make_lock_rows(struct lock_sums *sums,
			  const struct trace_waits *waits,
			  struct wait_choice *choice)
{
	for (size_t i = 0; i < waits->wait_count; i++) {
		const struct trace_wait *wait = &waits->waits[i];
		struct time_range cut;
		struct lock_row *row;
		int chosen = is_wait_chosen(choice, waits, wait, &cut);

		if (chosen < 0)
			return chosen;
		if (!chosen)
			continue;
		if (!wait->lock) {
			sums->other_waits++;
			sums->other_ns += cut.to_ns - cut.from_ns;
			if (sums->by != LOCK_SUMS_BY_WAITER)
				continue;
		}
		if (intern_lock_row(sums, wait, &row))
			return -ENOMEM;
		row->waits++;
		if (cut.from_ns < row->range.from_ns) {
			row->range.from_ns = cut.from_ns;
			row->first_stack = wait->stack;
		}
		row->range.to_ns = MAX(row->range.to_ns, cut.to_ns);
		row->blocked_ns += cut.to_ns - cut.from_ns;
	}
	return 0;
}

/* Gives each wait to the sweep of its lock, or to its waker. */
static int divide_waits(struct lock_sums *sums, struct trace_waits *waits,
			struct wait_choice *choice, struct lock_edges *edges)
{
	const struct lock_row *rows = sums->rows.items;

	for (size_t i = 0; i < waits->wait_count; i++) {
		const struct trace_wait *wait = &waits->waits[i];
		const struct lock_row key = lock_row_key(sums, wait);
		struct time_range cut;
		uint32_t row;
		int err;

		if (!pool_find(&sums->rows, &key, &row) ||
		    is_wait_chosen(choice, waits, wait, &cut) <= 0)
			continue;
		err = rows[row].held
			      ? add_edges(sums, edges, row, &cut, NO_SHARE,
					  wait->end == WAIT_END_UNKNOWN)
			      : count_waker(sums, waits, wait, row,
					    cut.to_ns - cut.from_ns);
		if (err)
			return err;
	}
	return 0;
}

static int count_holders(struct lock_sums *sums, struct trace_waits *waits,
			 const struct lock_edges *edges)
{
	for (size_t i = 0; i < edges->share_count; i++) {
		const struct hold_share *share = &edges->shares[i];
		const struct trace_hold *hold = &waits->holds[share->hold];
		struct lock_part part = { .row = share->row,
					  .function = hold->in,
					  .thread = hold->by,
					  .times = 1,
					  .ns = share->ns };

		if (!hold->by) {
			part.tid = (uint32_t)hold->thread->tid;
			part.thread = lock_thread_name(waits, hold->thread);
			if (sums->by == LOCK_SUMS_BY_HOLDER)
				part.stack = hold->stack;
		}
		if (count_part(sums, &part))
			return -ENOMEM;
	}
	return 0;
}

int lock_sums_make(struct trace_waits *waits, const struct time_range *range,
		   const char *thread, enum lock_sums_by by, bool *met,
		   struct lock_sums *sums)
{
	struct wait_choice choice = { .range = *range, .thread = thread };
	struct lock_edges edges = { 0 };
	int err;

	*sums = (struct lock_sums){ .budget = { .left = MEMORY_MAX },
				    .by = by };
	pool_init(&sums->rows, &sums->budget, sizeof(struct lock_row),
		  offsetof(struct lock_row, waits));
	pool_init(&sums->parts, &sums->budget, sizeof(struct lock_part),
		  offsetof(struct lock_part, times));
	pool_init(&sums->first, &sums->budget, sizeof(struct lock_first),
		  offsetof(struct lock_first, row));
	err = make_lock_rows(sums, waits, &choice);
	if (!err)
		err = add_holds(sums, waits, range, &edges);
	if (!err)
		err = divide_waits(sums, waits, &choice, &edges);
	if (!err) {
		sweep_locks(sums, &edges);
		err = count_holders(sums, waits, &edges);
	}
	*met = !thread || thread_choice_exists(waits->reader, thread);
	free(edges.shares);
	free(edges.list);
	free(choice.choices);
	if (err)
		lock_sums_release(sums);
	return err;
}

void lock_sums_release(struct lock_sums *sums)
{
	pool_release(&sums->rows);
	pool_release(&sums->parts);
	pool_release(&sums->first);
}
