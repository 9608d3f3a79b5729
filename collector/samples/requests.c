/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/samples/requests.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/search.h"
#include "shared/compiler.h"

/* Changes per thread: callers ask for the last few seconds. */
#define CHANGES_MIN 64u
#define CHANGES_MAX 16384u
/* A thread without a request for this long may have ended. */
#define IDLE_NS UINT64_C(60000000000)

struct change {
	uint64_t ns;
	struct trace_ids ids;
};

struct history {
	uint64_t tid;

	struct change *change; /* oldest first */
	uint32_t count, room;
	uint32_t next; /* next in the ring, while there are changes */
	/* Start of the time without a request before its oldest change;
	 * UINT64_MAX: unknown. */
	uint64_t none_ns;
};

void requests_init(struct requests *requests, struct budget *budget)
{
	*requests = (struct requests){ .budget = budget };
	pool_init(&requests->threads, budget, sizeof(struct history),
		  offsetof(struct history, change));
}

static struct history *history_at(const struct requests *requests,
				  uint32_t number)
{
	return (struct history *)requests->threads.items + number;
}

static void free_changes(struct requests *requests, struct history *history)
{
	budget_give(requests->budget, history->room * sizeof(struct change));
	free(history->change);
	history->change = NULL;
	history->count = history->room = 0;
}

void requests_release(struct requests *requests)
{
	struct history *history = requests->threads.items;

	for (uint32_t i = 0; i < requests->threads.count; i++)
		free_changes(requests, &history[i]);
	pool_release(&requests->threads);
}

static bool make_history_room(struct requests *requests,
			      struct history *history)
{
	uint32_t more = history->room ? history->room : CHANGES_MIN;
	size_t bytes = more * sizeof(struct change);
	struct change *change;

	if (history->count < history->room)
		return true;
	if (history->room + more > CHANGES_MAX ||
	    !budget_take(requests->budget, bytes))
		return false;
	change = realloc(history->change,
			 history->room * sizeof(*change) + bytes);
	if (!change) {
		budget_give(requests->budget, bytes);
		return false;
	}
	history->change = change;
	history->room += more;
	return true;
}

/* Frees the changes of the first thread of the ring if it is idle at @ns: it
 * may have ended, and a program may create threads without limit. Otherwise
 * moves it to the end of the ring. */
static void free_idle(struct requests *requests, uint64_t ns)
{
	struct history *last, *history;
	const struct change *change;

	if (!requests->ring_count)
		return;
	last = history_at(requests, requests->last);
	history = history_at(requests, last->next);
	change = &history->change[history->count - 1];
	if (trace_ids_are_set(&change->ids) ||
	    change->ns > ns - MIN(ns, IDLE_NS)) {
		requests->last = last->next;
		return;
	}
	history->none_ns = change->ns;
	last->next = history->next;
	requests->ring_count--;
	free_changes(requests, history);
}

void requests_change(struct requests *requests, pid_t tid, uint64_t ns,
		     const struct trace_ids *ids)
{
	const struct history new = { .tid = (uint32_t)tid };
	struct history *history, *last;
	uint32_t number, half;

	free_idle(requests, ns);
	if (pool_intern(&requests->threads, &new, &number) < 0)
		return;
	history = history_at(requests, number);
	if (!make_history_room(requests, history)) {
		half = history->count - history->count / 2;
		history->none_ns = UINT64_MAX;
		if (!half)
			return;
		history->count -= half;
		memmove(history->change, history->change + half,
			history->count * sizeof(*history->change));
	}
	if (!history->count) {
		history->next = number;
		if (requests->ring_count++) {
			last = history_at(requests, requests->last);
			history->next = last->next;
			last->next = number;
		}
		requests->last = number;
	}
	history->change[history->count++] = (struct change){ ns, *ids };
}

bool requests_at(const struct requests *requests, pid_t tid, uint64_t ns,
		 struct trace_ids *out)
{
	const struct history wanted = { .tid = (uint32_t)tid };
	const struct history *history;
	uint32_t number, low;

	*out = (struct trace_ids){ 0 };
	if (!pool_find(&requests->threads, &wanted, &number))
		return true;
	history = history_at(requests, number);
	low = search_first(i, history->count, history->change[i].ns > ns);
	if (!low)
		return ns >= history->none_ns;
	*out = history->change[low - 1].ids;
	return true;
}
