/* SPDX-License-Identifier: Apache-2.0
 *
 * waits - what threads waited on: slices that are no calls and are in no count
 * of slices, on tracks that have a name of their own. Switches may come after
 * them in the file, so they are held against these at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/tools/checker/pbread.h"
#include "tests/tools/checker/trace.h"

#define BREAK(trace, rule, ...) \
	verdict_break(&(trace)->verdict, RULE_##rule, __VA_ARGS__)

enum { EVENT_BEGIN = 1, EVENT_END, EVENT_INSTANT };

/* Whether @event has an argument of the recording, and not of a cut. */
static bool has_interned_argument(const struct event *event)
{
	struct pb pb = event->all;
	struct pb_field field = { 0 }, inner = { 0 };

	while (pb_next(&pb, &field) > 0)
		if (field.number == 4)
			while (pb_next(&field.bytes, &inner) > 0)
				if (inner.number == 1)
					return true;
	return false;
}

static void begin_wait(struct trace *trace, const struct own_track *own,
		       const struct event *event, uint32_t name)
{
	if (trace->wait_count == trace->wait_room) {
		trace->wait_room = trace->wait_room * 2 + 64;
		trace->waits = table_grow(trace->waits, trace->wait_room,
					  sizeof(*trace->waits));
	}
	trace->waits[trace->wait_count++] =
		(struct wait){ .from = event->ns,
			       .track = own->uuid,
			       .thread = own->parent,
			       .suspended = own->suspended,
			       .recorded = has_interned_argument(event),
			       .name = name };
}

/* The last wait of a track. */
static struct wait *last_wait(struct trace *trace, const struct own_track *own)
{
	size_t i = trace->wait_count;

	while (i && trace->waits[i - 1].track != own->uuid)
		i--;
	return i ? &trace->waits[i - 1] : NULL;
}

/* Whether a cut has put one of its marks there: the trace that it is of has the
 * true begin or end of the wait. */
static bool is_clipped(const struct event *event)
{
	static const char *const marks[] = { "perfrec.began_ns",
					     "perfrec.goes_on" };
	struct pb pb = event->all;
	struct pb_field field = { 0 }, inner = { 0 };

	while (pb_next(&pb, &field) > 0) {
		if (field.number != 4)
			continue;
		while (pb_next(&field.bytes, &inner) > 0)
			for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
				if (inner.number == 10 &&
				    pb_left(&inner.bytes) == strlen(marks[i]) &&
				    memcmp(inner.bytes.at, marks[i],
					   strlen(marks[i])) == 0)
					return true;
	}
	return false;
}

void waits_event(struct trace *trace, struct own_track *own,
		 const struct event *event, uint32_t name)
{
	bool is_first = !own->now_ns;
	struct wait *wait;

	/* Not in the list of waits. */
	if (own->holds && (event->type == EVENT_INSTANT ||
			   own->depth == (event->type == EVENT_END))) {
		own->depth = event->type == EVENT_BEGIN;
		return;
	}
	if (event->ns < own->now_ns)
		BREAK(trace, TIME_BACKWARDS, "track %" PRIu64, own->uuid);
	own->now_ns = event->ns;
	if (event->type == EVENT_BEGIN && !own->depth) {
		own->depth++;
		begin_wait(trace, own, event, name);
		last_wait(trace, own)->clipped = is_clipped(event);
	} else if (event->type == EVENT_END && own->depth) {
		own->depth--;
		wait = last_wait(trace, own);
		wait->to = event->ns;
		wait->clipped |= is_clipped(event);
	} else if (event->type != EVENT_INSTANT || own->holds ||
		   (!own->depth && !is_first)) {
		BREAK(trace, WAIT_SLICE,
		      "track %" PRIu64 ": type %" PRIu64 " with %u open",
		      own->uuid, event->type, own->depth);
	}
}

/* The thread that waited; NULL: not known. */
static const struct sequence *waiter(const struct trace *trace,
				     const struct wait *wait)
{
	const uint64_t *id = table_find(&trace->uuids, wait->thread);
	const uint64_t *index = id ? table_find(&trace->by_id, *id) : NULL;

	return index ? &trace->sequences[*index - 1] : NULL;
}

static void check_wait(struct trace *trace, const struct wait *wait, bool exact,
		       bool cut)
{
	const struct sequence *thread = waiter(trace, wait);

	if (!thread || (thread->context && !wait->suspended)) {
		if (!cut)
			BREAK(trace, WAIT_SLICE,
			      "track %" PRIu64 " is below no thread",
			      wait->track);
		return;
	}
	if (wait->suspended || wait->recorded)
		return; /* its thread may run then */
	if (wait->to && !sched_slept(&trace->sched, (int32_t)thread->tid,
				     wait->from, wait->to,
				     exact && !wait->clipped &&
					     wait->from >= trace->kept_from_ns))
		BREAK(trace, WAIT_BLOCKED,
		      "thread %" PRId64 " from %" PRIu64 " ns to %" PRIu64,
		      thread->tid, wait->from, wait->to);
}

void waits_end(struct trace *trace, bool cut)
{
	uint64_t end = 0;
	bool exact;

	for (size_t i = 0; i < trace->wait_count; i++)
		end = MAX(end, trace->waits[i].to);
	exact = !cut && sched_whole(&trace->sched, end);
	for (size_t i = 0; i < trace->wait_count; i++)
		check_wait(trace, &trace->waits[i], exact, cut);
}

void waits_print(const struct trace *trace)
{
	for (size_t i = 0; i < trace->wait_count; i++) {
		const struct wait *wait = &trace->waits[i];
		const struct sequence *thread = waiter(trace, wait);

		printf("%" PRId64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n",
		       thread ? thread->tid : 0, wait->from,
		       wait->to - wait->from,
		       wait->name ? trace->names.texts[wait->name - 1] : "");
	}
}
