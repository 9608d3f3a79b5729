/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/lock_list_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/base/search.h"
#include "collector/read/own_waits.h"
#include "shared/compiler.h"

#define REPORT_LOCK_VERSION 1

struct lock_order {
	const struct lock_list *list;
	const char *key;
};

const char *lock_list_text(const struct lock_list *list, uint32_t number)
{
	return trace_texts_get(&list->waits->texts, number);
}

const struct lock_row *lock_list_row(const struct lock_list *list,
				     uint32_t number)
{
	return &((const struct lock_row *)list->sums.rows.items)[number];
}

/* --- order ---------------------------------------------------------------- */

static int compare_lock_rows(const void *left, const void *right, void *context)
{
	const struct lock_order *order = context;
	const struct lock_list *list = order->list;
	const struct lock_row *a = lock_list_row(list, *(const uint32_t *)left);
	const struct lock_row *b =
		lock_list_row(list, *(const uint32_t *)right);
	int names = strcmp(lock_list_text(list, a->lock),
			   lock_list_text(list, b->lock));

	if (!strcmp(order->key, "blocked") && a->blocked_ns != b->blocked_ns)
		return a->blocked_ns > b->blocked_ns ? -1 : 1;
	if (!strcmp(order->key, "waits") && a->waits != b->waits)
		return a->waits > b->waits ? -1 : 1;
	if (!strcmp(order->key, "max") && a->longest_ns != b->longest_ns)
		return a->longest_ns > b->longest_ns ? -1 : 1;
	return names ?: (a->process > b->process) - (a->process < b->process);
}

static int compare_lock_parts(const void *left, const void *right)
{
	const struct lock_part *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

int lock_list_sort(struct lock_list *list, const char *key)
{
	uint32_t count = list->sums.rows.count;
	struct lock_order order = { list, key };

	list->order = calloc((size_t)count + 1, sizeof(*list->order));
	if (!list->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		list->order[i] = i;
		list->has_processes |= lock_list_row(list, i)->process !=
				       lock_list_row(list, 0)->process;
	}
	qsort_r(list->order, count, sizeof(*list->order), compare_lock_rows,
		&order);
	list->parts = list->sums.parts.items;
	if (list->sums.parts.count)
		qsort(list->parts, list->sums.parts.count, sizeof(*list->parts),
		      compare_lock_parts);
	return 0;
}

size_t lock_list_parts(const struct lock_list *list, uint32_t number,
		       const struct lock_part **first)
{
	uint32_t count = list->sums.parts.count;
	uint32_t from = search_first(i, count, list->parts[i].row >= number);
	uint32_t to = search_first(i, count, list->parts[i].row > number);

	*first = list->parts + from;
	return to - from;
}

/* --- what recording added --- */

int lock_list_read_own(struct lock_list *list, const struct summary *summary,
		       const char *path, const struct read_progress *progress)
{
	const uint64_t calls =
		summary->totals.spans -
		MIN(summary->totals.spans, summary->totals.short_spans);
	struct own_costs costs = {
		.collector_ns = summary->totals.collector_cpu_ns,
	};
	int err;

	if (!calls || summary->cost.hooks_ns < summary->totals.on_cpu_ns / 50)
		return 0;
	costs.call_ns = (double)summary->cost.hooks_ns / (double)calls;
	err = own_waits_read(path, &costs, progress, list->waits);
	list->has_own = !err;
	return err;
}

/* --- functions that waited ------------------------------------------------ */

static int compare_waiter_rows(const void *left, const void *right,
			       void *context)
{
	const struct lock_list *list = context;
	const struct waiter_row *rows = list->waiters.rows.items;
	const struct waiter_row *a = &rows[*(const uint32_t *)left];
	const struct waiter_row *b = &rows[*(const uint32_t *)right];

	if (a->blocked_ns != b->blocked_ns)
		return a->blocked_ns > b->blocked_ns ? -1 : 1;
	return strcmp(lock_list_text(list, a->function),
		      lock_list_text(list, b->function));
}

int lock_list_read_stacks(struct lock_list *list, const char *path,
			  const struct time_range *range, const char *thread,
			  const struct read_progress *progress)
{
	int err = wait_stacks_read(path, list->waits, progress, &list->stacks);
	uint32_t count;

	if (!err)
		err = lock_waiters_make(list->waits, &list->stacks, range,
					thread, &list->waiters);
	if (err)
		return err;
	count = list->waiters.rows.count;
	list->functions = calloc((size_t)count + 1, sizeof(*list->functions));
	if (!list->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		list->functions[i] = i;
	qsort_r(list->functions, count, sizeof(*list->functions),
		compare_waiter_rows, list);
	list->has_stacks = true;
	return 0;
}

/* --- JSON ----------------------------------------------------------------- */

/* Returns the functions of @stack, innermost first. */
static json_t *wait_stack_json(const struct lock_list *list, uint32_t stack)
{
	const struct wait_frame *frame =
		wait_stacks_frame(&list->stacks, stack);
	json_t *functions = json_array();

	for (; frame; frame = wait_stacks_frame(&list->stacks, frame->caller))
		json_array_append_new(
			functions,
			json_text(lock_list_text(list, frame->function)));
	return functions;
}

static json_t *own_json(const struct lock_list *list, uint64_t own_ns)
{
	return list->has_own ? json_integer((json_int_t)own_ns) : json_null();
}

static json_t *lock_json(const struct lock_list *list, uint32_t number)
{
	const bool by_stack = list->sums.by == LOCK_SUMS_BY_HOLDER;
	const struct lock_row *row = lock_list_row(list, number);
	const struct trace_track *process =
		trace_reader_track(list->waits->reader, row->process);
	const struct lock_part *part;
	size_t count = lock_list_parts(list, number, &part);
	json_t *parts = json_array();
	json_t *lock = json_pack(
		"{s:o, s:I, s:I, s:I, s:O, s:I}", "lock",
		json_text(lock_list_text(list, row->lock)), "pid",
		(json_int_t)(process ? process->pid : 0), "waits",
		(json_int_t)row->waits, "blocked_ns",
		(json_int_t)row->blocked_ns, row->held ? "holders" : "wakers",
		parts, "unknown_ns", (json_int_t)row->unknown_ns);

	for (; count; count--, part++)
		json_array_append_new(
			parts,
			json_pack(
				"{s:o, s:o, s:I, s:I, s:I, s:o*}", "function",
				json_text(lock_list_text(list, part->function)),
				"thread",
				json_text(lock_list_text(list, part->thread)),
				"tid", (json_int_t)part->tid, "times",
				(json_int_t)part->times, "blocked_ns",
				(json_int_t)part->ns, "stack",
				by_stack && row->held
					? wait_stack_json(list, part->stack)
					: NULL));
	json_decref(parts);
	json_object_set_new(lock, "recording_ns", own_json(list, row->own_ns));
	if (by_stack)
		json_object_update_new(
			lock,
			json_pack("{s:I, s:o}", "count", (json_int_t)row->locks,
				  "first_wait",
				  wait_stack_json(list, row->first_stack)));
	json_object_update_new(
		lock,
		row->held
			? json_pack("{s:I, s:I, s:I, s:I}", "holds",
				    (json_int_t)row->holds, "held_ns",
				    (json_int_t)row->held_ns, "longest_hold_ns",
				    (json_int_t)row->longest_ns, "hand_over_ns",
				    (json_int_t)row->hand_over_ns)
			: json_pack("{s:I, s:I, s:I}", "outside_ns",
				    (json_int_t)row->outside_ns, "timed_out_ns",
				    (json_int_t)row->timed_out_ns,
				    "process_ended_ns",
				    (json_int_t)row->ended_ns));
	return lock;
}

static json_t *waiter_json(const struct lock_list *list, uint32_t number)
{
	const struct waiter_row *row =
		&((const struct waiter_row *)list->waiters.rows.items)[number];
	const struct waiter_part *part;
	uint32_t count = lock_waiters_parts(&list->waiters, number, &part);
	json_t *holders = json_array(), *wakers = json_array(), *waiter;

	for (; count; count--, part++)
		json_array_append_new(
			part->held ? holders : wakers,
			json_pack(
				"{s:o, s:o, s:I, s:I}", "function",
				json_text(lock_list_text(list, part->function)),
				"thread",
				json_text(lock_list_text(list, part->thread)),
				"tid", (json_int_t)part->tid, "blocked_ns",
				(json_int_t)part->ns));
	waiter = json_pack(
		"{s:o, s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:I}",
		"function", json_text(lock_list_text(list, row->function)),
		"waits", (json_int_t)row->waits, "blocked_ns",
		(json_int_t)row->blocked_ns, "holders", holders, "wakers",
		wakers, "hand_over_ns", (json_int_t)row->hand_over_ns,
		"outside_ns", (json_int_t)row->outside_ns, "timed_out_ns",
		(json_int_t)row->timed_out_ns, "process_ended_ns",
		(json_int_t)row->ended_ns, "unknown_ns",
		(json_int_t)row->unknown_ns);
	json_object_set_new(waiter, "recording_ns",
			    own_json(list, row->own_ns));
	return waiter;
}

json_t *lock_list_json(const struct lock_list *list, size_t limit)
{
	const size_t most = limit ?: SIZE_MAX;
	json_t *locks = json_array(), *functions = NULL;

	for (size_t i = 0; i < MIN(most, list->sums.rows.count); i++)
		json_array_append_new(locks, lock_json(list, list->order[i]));
	if (list->has_stacks)
		functions = json_array();
	for (size_t i = 0; functions && i < MIN(most, list->waiters.rows.count);
	     i++)
		json_array_append_new(functions,
				      waiter_json(list, list->functions[i]));
	return json_pack("{s:i, s:s, s:o, s:o*, s:I, s:I}", "version",
			 REPORT_LOCK_VERSION, "view", "lock", "locks", locks,
			 "functions", functions, "other_waits",
			 (json_int_t)list->sums.other_waits, "other_blocked_ns",
			 (json_int_t)list->sums.other_ns);
}

void lock_list_release(struct lock_list *list)
{
	free(list->functions);
	lock_waiters_release(&list->waiters);
	wait_stacks_release(&list->stacks);
	free(list->order);
	lock_sums_release(&list->sums);
	trace_waits_free(&list->waits);
}
