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
#include "collector/base/search.h"
#include "collector/read/thread_choice.h"
#include "shared/compiler.h"

#define MEMORY_MAX (UINT64_C(1) << 30)
#define PROCESS_NONE UINT32_MAX
#define NO_SHARE SIZE_MAX

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

/* The part of a hold during which a row waited for the lock. */
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

/* A hold, or a part of a wait. */
struct lock_span {
	uint64_t lock; /* lock_id() */
	struct time_range time;
	uint32_t row; /* of a wait */
	size_t hold; /* of a hold */
};

struct lock_spans {
	struct lock_span *list;
	size_t count, room;
};

static uint32_t process_of(const struct trace_track *thread)
{
	return thread->process ? thread->process->number : PROCESS_NONE;
}

static uint64_t lock_id(const struct trace_track *thread, uint32_t lock)
{
	return (uint64_t)process_of(thread) << 32 | lock;
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

static int intern_lock_row(struct lock_sums *sums,
			   const struct trace_wait *wait, struct lock_row **row)
{
	const struct lock_row key = lock_row_key(sums, wait);
	uint32_t number;
	int got = pool_intern(&sums->rows, &key, &number);

	if (got < 0)
		return got;
	*row = lock_row_at(sums, number);
	if (got) {
		(*row)->range = (struct time_range){ UINT64_MAX, 0 };
		(*row)->locks = 1;
	}
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

/* Returns the part of own_ns of @wait in @cut. */
static uint64_t cut_own(const struct trace_wait *wait,
			const struct time_range *cut)
{
	double part = (double)(cut->to_ns - cut->from_ns) /
		      (double)(wait->to_ns - wait->from_ns);

	return (uint64_t)((double)wait->own_ns * part);
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
		const struct lock_row key = { .process =
						      process_of(hold->thread),
					      .lock = hold->lock };
		struct lock_row *row;
		struct time_range cut;
		uint32_t number;

		if (!hold->lock || !pool_find(&sums->rows, &key, &number) ||
		    !cut_to_range(range, hold->from_ns, hold->to_ns, &cut))
			continue;
		row = lock_row_at(sums, number);
		row->held = true;
		row->holds++;
		row->held_ns += cut.to_ns - cut.from_ns;
		row->longest_ns = MAX(row->longest_ns, cut.to_ns - cut.from_ns);
		if (add_hold(sums, i, number, &cut, edges))
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
		row->own_ns += cut_own(wait, &cut);
	}
	return 0;
}

/* --- holds by waiter ------------------------------------------------------- */

static int add_lock_span(struct lock_sums *sums, struct lock_spans *spans,
			 const struct lock_span *span)
{
	if (grow_array_from(&sums->budget, spans->list, spans->room,
			    spans->count + 1))
		return -ENOMEM;
	spans->list[spans->count++] = *span;
	return 0;
}

static int compare_spans_by_lock(const void *left, const void *right)
{
	const struct lock_span *a = left, *b = right;

	if (a->lock != b->lock)
		return a->lock < b->lock ? -1 : 1;
	return (a->time.from_ns > b->time.from_ns) -
	       (a->time.from_ns < b->time.from_ns);
}

static int compare_spans_by_row(const void *left, const void *right)
{
	const struct lock_span *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return (a->time.from_ns > b->time.from_ns) -
	       (a->time.from_ns < b->time.from_ns);
}

static int list_holds(struct lock_sums *sums, const struct trace_waits *waits,
		      const struct time_range *range, struct lock_spans *held)
{
	for (size_t i = 0; i < waits->hold_count; i++) {
		const struct trace_hold *hold = &waits->holds[i];
		struct lock_span span = {
			.lock = lock_id(hold->thread, hold->lock), .hold = i
		};

		if (hold->lock &&
		    cut_to_range(range, hold->from_ns, hold->to_ns,
				 &span.time) &&
		    add_lock_span(sums, held, &span))
			return -ENOMEM;
	}
	if (held->count)
		qsort(held->list, held->count, sizeof(*held->list),
		      compare_spans_by_lock);
	return 0;
}

/* Lists the times when a row waited for a lock with holds, without overlap. */
static int list_waited(struct lock_sums *sums, const struct trace_waits *waits,
		       struct wait_choice *choice,
		       const struct lock_spans *held, struct lock_spans *waited)
{
	const struct lock_span *list = held->list;
	size_t kept = 0;

	for (size_t i = 0; i < waits->wait_count; i++) {
		const struct trace_wait *wait = &waits->waits[i];
		const struct lock_row key = lock_row_key(sums, wait);
		struct lock_span span = { .lock = lock_id(wait->thread,
							  wait->lock) };
		size_t at =
			search_first(j, held->count, list[j].lock >= span.lock);

		if (at == held->count || list[at].lock != span.lock ||
		    is_wait_chosen(choice, waits, wait, &span.time) <= 0 ||
		    !pool_find(&sums->rows, &key, &span.row))
			continue;
		lock_row_at(sums, span.row)->held = true;
		if (add_lock_span(sums, waited, &span))
			return -ENOMEM;
	}
	if (waited->count)
		qsort(waited->list, waited->count, sizeof(*waited->list),
		      compare_spans_by_row);
	for (size_t i = 0; i < waited->count; i++) {
		struct lock_span span = waited->list[i];
		struct lock_span *last = kept ? &waited->list[kept - 1] : NULL;

		if (last && last->row == span.row &&
		    span.time.from_ns <= last->time.to_ns)
			last->time.to_ns =
				MAX(last->time.to_ns, span.time.to_ns);
		else
			waited->list[kept++] = span;
	}
	waited->count = kept;
	return 0;
}

/* Adds the part of @held within @waited to the row of @waited. */
static int add_overlap(struct lock_sums *sums, const struct lock_span *waited,
		       const struct lock_span *held, struct lock_edges *edges)
{
	struct time_range cut;

	return cut_to_range(&waited->time, held->time.from_ns, held->time.to_ns,
			    &cut)
		       ? add_hold(sums, held->hold, waited->row, &cut, edges)
		       : 0;
}

/* Adds the holds to the rows that waited during them. Both lists are sorted by
 * lock and by time, and @open has the holds that go on. */
static int join_spans(struct lock_sums *sums, struct lock_spans *waited,
		      const struct lock_spans *held, struct lock_spans *open,
		      struct lock_edges *edges)
{
	size_t next = 0;

	for (size_t i = 0; i < waited->count; i++) {
		const struct lock_span *span = &waited->list[i];
		size_t kept = 0;

		for (; next < held->count &&
		       compare_spans_by_lock(&held->list[next], span) <= 0;
		     next++)
			if (add_lock_span(sums, open, &held->list[next]))
				return -ENOMEM;
		for (size_t j = 0; j < open->count; j++)
			if (open->list[j].lock == span->lock &&
			    open->list[j].time.to_ns > span->time.from_ns)
				open->list[kept++] = open->list[j];
		open->count = kept;
		for (size_t j = 0; j < open->count; j++)
			if (add_overlap(sums, span, &open->list[j], edges))
				return -ENOMEM;
		for (size_t j = next;
		     j < held->count && held->list[j].lock == span->lock &&
		     held->list[j].time.from_ns < span->time.to_ns;
		     j++)
			if (add_overlap(sums, span, &held->list[j], edges))
				return -ENOMEM;
	}
	return 0;
}

/* Adds each hold to the rows of its lock, but only while they waited: a lock may
 * have thousands of stacks and a million holds. */
static int add_holds_by_waiter(struct lock_sums *sums,
			       const struct trace_waits *waits,
			       struct wait_choice *choice,
			       struct lock_edges *edges)
{
	struct lock_spans held = { 0 }, waited = { 0 }, open = { 0 };
	int err = list_holds(sums, waits, &choice->range, &held);

	if (!err)
		err = list_waited(sums, waits, choice, &held, &waited);
	if (!err && waited.count)
		qsort(waited.list, waited.count, sizeof(*waited.list),
		      compare_spans_by_lock);
	if (!err)
		err = join_spans(sums, &waited, &held, &open, edges);
	free(held.list);
	free(waited.list);
	free(open.list);
	return err;
}

/* --- all waits ------------------------------------------------------------ */

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
	err = make_lock_rows(sums, waits, &choice);
	if (!err)
		err = by == LOCK_SUMS_BY_WAITER
			      ? add_holds_by_waiter(sums, waits, &choice,
						    &edges)
			      : add_holds(sums, waits, range, &edges);
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
}
