/* SPDX-License-Identifier: Apache-2.0
 *
 * async_stays - the stays of threads in asynchronous slices. A stay goes from
 * the ENTER of a thread to its LEAVE.
 *
 *   ENTER   enters the innermost slice with its handle. A thread that is
 *           already inside of that slice continues its stay, and must leave it
 *           once more.
 *   LEAVE   leaves the innermost slice with its handle that has a stay of the
 *           thread
 *
 * The end of a slice ends all its stays; the end of a thread ends all stays of
 * the thread. An ENTER of a slice that is not open, and a LEAVE by a thread
 * that is not inside, are counted and dropped.
 *
 * A slice has busy time, the sum of its stays, and active time, with at least
 * one stay; the rest is idle time. The CPU time of a stay is known if the
 * thread's own events report it at both ends. If another thread ends the slice,
 * the thread inside reports nothing at the end.
 *
 * A stay is written after its end. It goes to the lane of its slice if nothing
 * was written there since the stay began, because then it nests. Otherwise it
 * goes to another lane of the track. A stay without a lane is missing in the
 * trace, but is in all sums.
 */
#include "collector/drain/async_stays.h"

#include <string.h>

#include "collector/base/budget.h"
#include "collector/drain/async_lanes.h"
#include "collector/drain/note.h"
#include "collector/record/recording.h"
#include "shared/compiler.h"

#define STAYS_MAX 256

struct stay {
	/* Lists of the slice and of the thread; the latest first. */
	struct stay *next_slice, **link_slice;
	struct stay *next_thread, **link_thread;
	struct open_slice *slice;
	struct async_thread *thread;
	uint64_t ns; /* start of the stay */
	struct async_cpu cpu; /* of the thread at that time */
	uint64_t depth; /* ENTERs minus LEAVEs */
	const struct site *site; /* of the ENTER */
	struct note *note; /* of the ENTER, or NULL */
	char name[ASYNC_NAME_BYTES]; /* of the thread */
};

/* --- lists --------------------------------------------------------------- */

static struct stay *find_stay(const struct async_event *event)
{
	struct stay *stay = event->thread->stays;

	while (stay && (stay->slice->key != event->key ||
			stay->slice->handle != event->handle))
		stay = stay->next_thread;
	return stay;
}

/* --- the end of a stay --------------------------------------------------- */

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

/* Adds the CPU time of a stay of @busy_ns to @sums. @begin and @end are the
 * thread's CPU times at its ends; @end NULL: unknown. */
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

/* @event ends the stay. @tells: the event is from the stay's thread. */
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

static void end_stay(struct async_lanes *lanes, struct stay *stay,
		     const struct async_event *event, bool tells,
		     struct stays_counts *counts)
{
	sum_stay(stay, event, tells);
	counts->withheld += !write_stay(lanes, stay, event);
	unlink_stay(stay);
	budget_give(lanes->setup->budget, note_bytes(stay->note));
	note_free(stay->note);
	lanes_give_memory(lanes, stay, sizeof(*stay));
}

/* --- events -------------------------------------------------------------- */

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
