/* SPDX-License-Identifier: Apache-2.0
 *
 * async_stays - the threads that are inside of asynchronous slices. A stay goes
 * from the ENTER of a thread to its LEAVE.
 *
 *   ENTER   of the innermost slice with its handle. A thread that is inside of
 *           that slice already goes on with its stay, and must leave it once
 *           more.
 *   LEAVE   of the innermost slice with its handle that the thread is inside of
 *
 * All stays in a slice end with it; all stays of a thread, with the thread. An
 * ENTER of a slice that is not open, and a LEAVE by a thread that is not
 * inside, are counted and left out.
 *
 * A slice has busy time, the sum of its stays, and active time, in which there
 * is at least one; the rest is idle time. Of each stay it is known how long its
 * thread was on a CPU, if the thread's own events say so at both ends. A thread
 * whose stay ends because another thread ends the slice does not say so.
 *
 * A stay is written when it has ended: on the lane of its slice, if it nests
 * there, that is if nothing was written to the lane since the stay began; if
 * not, on another lane of the track. What finds no lane is not in the trace,
 * but in all sums.
 */
#include "collector/notes/async_stays.h"

#include <string.h>

#include "collector/base/budget.h"
#include "collector/notes/async_lanes.h"
#include "collector/notes/note.h"
#include "collector/record/recording.h"
#include "shared/compiler.h"

/* So many slices a thread may be inside of at a time. */
#define STAYS_MAX 256

struct stay {
	/* Of the slice, and of the thread; the latest first. */
	struct stay *next_slice, **link_slice;
	struct stay *next_thread, **link_thread;
	struct open_slice *slice;
	struct async_thread *thread;
	uint64_t ns; /* when it began */
	struct async_cpu cpu; /* of the thread, then */
	uint64_t depth; /* ENTERs without a LEAVE */
	const struct site *site; /* of the ENTER */
	struct note *note; /* the same, or NULL */
	char name[ASYNC_NAME_BYTES]; /* of the thread */
};

/* --- lists ------------------------------------------------------------------
 */

static void link_stay(struct stay *stay)
{
	struct stay **head = &stay->slice->stays;

	stay->link_slice = head;
	stay->next_slice = *head;
	if (*head)
		(*head)->link_slice = &stay->next_slice;
	*head = stay;
	head = &stay->thread->stays;
	stay->link_thread = head;
	stay->next_thread = *head;
	if (*head)
		(*head)->link_thread = &stay->next_thread;
	*head = stay;
	stay->thread->count++;
}

static void unlink_stay(struct stay *stay)
{
	*stay->link_slice = stay->next_slice;
	if (stay->next_slice)
		stay->next_slice->link_slice = stay->link_slice;
	*stay->link_thread = stay->next_thread;
	if (stay->next_thread)
		stay->next_thread->link_thread = stay->link_thread;
	stay->thread->count--;
}

/* The stay of the thread of @event in the innermost slice of its handle that it
 * is inside of; NULL: there is none. */
static struct stay *find_stay(const struct async_event *event)
{
	struct stay *stay = event->thread->stays;

	while (stay && (stay->slice->key != event->key ||
			stay->slice->handle != event->handle))
		stay = stay->next_thread;
	return stay;
}

/* --- the end of a stay ------------------------------------------------------
 */

/* Adds what the thread did in @busy_ns to @sums: it was as @begin says before,
 * and as @end says after that (NULL: it does not say). */
static void sum_cpu(struct async_sums *sums, uint64_t busy_ns,
		    const struct async_cpu *begin, const struct async_cpu *end)
{
	uint64_t unknown_ns = busy_ns;

	if (end && begin->on_ns != ASYNC_CPU_UNKNOWN &&
	    end->on_ns != ASYNC_CPU_UNKNOWN && begin->on_ns <= end->on_ns &&
	    begin->unknown_ns <= end->unknown_ns) {
		unknown_ns = MIN(end->unknown_ns - begin->unknown_ns, busy_ns);
		sums->on_cpu_ns +=
			MIN(end->on_ns - begin->on_ns, busy_ns - unknown_ns);
	}
	sums->unknown_ns += unknown_ns;
}

/* @event ends the stay, and is of its thread if it @tells. */
static void sum_stay(struct stay *stay, const struct async_event *event,
		     bool tells)
{
	struct open_slice *slice = stay->slice;
	uint64_t busy_ns = event->ns - stay->ns;

	slice->sums.busy_ns += busy_ns;
	sum_cpu(&slice->sums, busy_ns, &stay->cpu, tells ? &event->cpu : NULL);
	slice->inside--;
	if (!slice->inside)
		slice->sums.active_ns += event->ns - slice->inside_ns;
}

/* True: it is in the trace. */
static bool write_stay(struct async_lanes *lanes, const struct stay *stay,
		       const struct async_event *event)
{
	struct open_slice *slice = stay->slice;
	struct lane *lane = slice->lane;
	bool is_leave = event->type == ASYNC_LEAVE;
	const struct lane_edge begin = { .site = stay->site,
					 .note = stay->note,
					 .thread = stay->name };
	const struct lane_edge end = { .site = is_leave ? event->site : NULL,
				       .note = is_leave ? event->note : NULL };

	if (!lanes_is_quiet(lane, stay->ns))
		lane = lanes_quiet(lanes, slice->track, stay->ns);
	if (!lane || !lanes_put_begin(lanes, lane, &begin, stay->ns))
		return false;
	lanes_put_end(lanes, slice->track, lane, &end, event->ns);
	return true;
}

static void free_note(struct async_lanes *lanes, struct note *note)
{
	budget_give(lanes->setup->budget, note_bytes(note));
	note_free(note);
}

static void end_stay(struct async_lanes *lanes, struct stay *stay,
		     const struct async_event *event, bool tells,
		     struct stays_counts *counts)
{
	sum_stay(stay, event, tells);
	counts->withheld += !write_stay(lanes, stay, event);
	unlink_stay(stay);
	free_note(lanes, stay->note);
	lanes_give_memory(lanes, stay, sizeof(*stay));
}

/* --- events -----------------------------------------------------------------
 */

/* False: there is no room. */
static bool begin_stay(struct async_lanes *lanes, struct open_slice *slice,
		       struct async_event *event)
{
	struct stay *stay = NULL;

	if (event->thread->count < STAYS_MAX)
		stay = lanes_take_memory(lanes, sizeof(*stay));
	if (!stay)
		return false;
	stay->slice = slice;
	stay->thread = event->thread;
	stay->ns = event->ns;
	stay->cpu = event->cpu;
	stay->depth = 1;
	stay->site = event->site;
	stay->note = event->note;
	event->note = NULL;
	memcpy(stay->name, event->name, sizeof(stay->name));
	link_stay(stay);
	if (!slice->inside++)
		slice->inside_ns = event->ns;
	slice->sums.entered = 1;
	return true;
}

void stays_enter(struct async_lanes *lanes, struct open_slice *slice,
		 struct async_event *event, struct stays_counts *counts)
{
	struct stay *stay = find_stay(event);

	if (!slice)
		counts->odd++;
	else if (stay && stay->slice == slice)
		stay->depth++;
	else
		counts->withheld += !begin_stay(lanes, slice, event);
}

void stays_leave(struct async_lanes *lanes, const struct async_event *event,
		 struct stays_counts *counts)
{
	struct stay *stay = find_stay(event);

	if (!stay)
		counts->odd++;
	else if (!--stay->depth)
		end_stay(lanes, stay, event, true, counts);
}

void stays_gone(struct async_lanes *lanes, const struct async_event *event,
		struct stays_counts *counts)
{
	while (event->thread->stays)
		end_stay(lanes, event->thread->stays, event, true, counts);
}

void stays_end(struct async_lanes *lanes, struct open_slice *slice,
	       const struct async_event *event, struct stays_counts *counts)
{
	while (slice->stays)
		end_stay(lanes, slice->stays, event,
			 slice->stays->thread == event->thread, counts);
}
