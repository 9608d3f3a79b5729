/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/all_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/read/open_calls.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_switches.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"

#define MEMORY_MAX (UINT64_C(1) << 30)
/* A shorter time off a CPU counts as a part of the call, not as a wait. */
#define UNREAD_NS_MIN 10000u
#define NOT_READ "an unknown object"

/* A thread was off the CPU, and not preempted. */
struct wait_gap {
	const struct trace_track *thread;
	uint64_t from_ns, to_ns;
	uint32_t function; /* text of the reader; 0: none */
};

struct wait_gaps {
	const struct trace_sched *sched;
	struct budget budget;
	struct wait_gap *gaps;
	size_t gap_count, gap_room;
	/* The short and the long waits in a function that have a slice, by
	 * function of gaps. */
	struct gap_reads {
		struct gap_votes {
			uint64_t waits, outside;
		} of[2];
	} * reads;
	uint32_t read_room;
	struct gap_thread {
		uint32_t stretch; /* on a CPU: the next one */
		bool has_calls;
		struct open_calls calls; /* names: texts of the reader */
	} * threads; /* by number of the track */
	uint32_t thread_room;
};

/* Keeps the gaps of @track before @ns; it has a place in threads. The clocks of the
 * thread and of the kernel are some us apart, so the middle of a gap decides. */
static int take_gaps_until(struct wait_gaps *gaps,
			   const struct trace_track *track, uint64_t ns)
{
	struct gap_thread *thread = &gaps->threads[track->number];
	const struct trace_stretch *ran;
	uint32_t count = trace_sched_stretches(gaps->sched, track->tid, &ran);

	for (; thread->stretch + 1 < count; thread->stretch++) {
		const struct trace_stretch *left = &ran[thread->stretch];
		struct wait_gap gap = { .thread = track,
					.from_ns = left[0].to,
					.to_ns = left[1].from,
					.function = open_calls_innermost(
						&thread->calls) };

		if (gap.from_ns + (gap.to_ns - gap.from_ns) / 2 > ns)
			break;
		if (left->why != TRACE_LEFT_WAITS ||
		    gap.to_ns < gap.from_ns + UNREAD_NS_MIN ||
		    (thread->has_calls && gap.from_ns < track->first_ns))
			continue;
		if (grow_array_from(&gaps->budget, gaps->gaps, gaps->gap_room,
				    gaps->gap_count + 1))
			return -ENOMEM;
		gaps->gaps[gaps->gap_count++] = gap;
	}
	return 0;
}

/* The thread records nothing while it waits. */
static int take_gap_event(void *context, const struct trace_reader *reader,
			  const struct trace_event *event)
{
	struct wait_gaps *gaps = context;
	uint32_t number;

	(void)reader;
	if (!open_calls_change(event))
		return 0;
	number = event->track->number;
	if (grow_array_zeroed(gaps->threads, gaps->thread_room,
			      (size_t)number + 1))
		return -ENOMEM;
	gaps->threads[number].has_calls = true;
	if (take_gaps_until(gaps, event->track, event->ns))
		return -ENOMEM;
	return open_calls_take(&gaps->threads[number].calls, event,
			       event->site ?: event->name);
}

/* Keeps the gaps after the last call of each thread, and all of a thread without
 * calls: programs without hooks have no others. */
static int take_last_gaps(struct wait_gaps *gaps,
			  const struct trace_reader *reader)
{
	const struct trace_track *track;

	for (uint32_t i = 0; (track = trace_reader_track(reader, i)); i++) {
		if (track->kind != TRACE_TRACK_THREAD)
			continue;
		if (grow_array_zeroed(gaps->threads, gaps->thread_room,
				      (size_t)i + 1))
			return -ENOMEM;
		gaps->threads[i].calls.depth = 0;
		if (take_gaps_until(gaps, track, UINT64_MAX))
			return -ENOMEM;
	}
	return 0;
}

static struct gap_votes *gap_votes_of(const struct wait_gaps *gaps,
				      const struct wait_gap *gap)
{
	return &gaps->reads[gap->function]
			.of[gap->to_ns - gap->from_ns >= OUT_LONG_WAIT_NS];
}

/* Keeps gaps without a slice, and counts the others by function. */
static int count_reads(struct wait_gaps *gaps, const struct trace_waits *waits)
{
	size_t kept = 0;

	for (size_t i = 0; i < gaps->gap_count; i++) {
		const struct wait_gap gap = gaps->gaps[i];
		const struct trace_wait *wait;
		struct gap_votes *votes;
		size_t count = trace_waits_of(waits, gap.thread, &wait);
		size_t after =
			search_first(j, count, wait[j].from_ns >= gap.to_ns);

		if (grow_array_zeroed(gaps->reads, gaps->read_room,
				      (size_t)gap.function + 1))
			return -ENOMEM;
		if (!after || wait[after - 1].to_ns <= gap.from_ns) {
			gaps->gaps[kept++] = gap;
			continue;
		}
		wait += after - 1;
		/* Each wait for a lock has a slice, as the thread recorded it,
		 * so it says nothing of waits without one. */
		if (wait->lock)
			continue;
		votes = gap_votes_of(gaps, &gap);
		votes->waits++;
		votes->outside += wait->end == WAIT_END_OUTSIDE ||
				  wait->end == WAIT_END_TIMEOUT;
	}
	gaps->gap_count = kept;
	return 0;
}

/* A wait without a slice is like the others of its function, by the rule for
 * offcpu.pb.gz: three were read, and nine of ten had the same object. */
static int add_unread_waits(struct wait_gaps *gaps, struct trace_waits *waits)
{
	if (count_reads(gaps, waits))
		return -ENOMEM;
	for (size_t i = 0; i < gaps->gap_count; i++) {
		const struct wait_gap *gap = &gaps->gaps[i];
		const struct gap_votes *read = gap_votes_of(gaps, gap);
		bool outside = read->waits >= 3 &&
			       read->outside >= read->waits - read->waits / 10;

		if (grow_array_from(&waits->budget, waits->waits,
				    waits->wait_room, waits->wait_count + 1))
			return -ENOMEM;
		waits->waits[waits->wait_count++] = (struct trace_wait){
			.thread = gap->thread,
			.from_ns = gap->from_ns,
			.to_ns = gap->to_ns,
			.end = outside ? WAIT_END_OUTSIDE : WAIT_END_UNKNOWN,
			.object = trace_texts_number(&waits->texts,
						     (const uint8_t *)NOT_READ,
						     strlen(NOT_READ)),
		};
	}
	trace_waits_sort(waits);
	return 0;
}

int all_waits_read(const char *path, const struct read_progress *progress,
		   struct trace_sched **sched, struct trace_waits **waits)
{
	struct wait_gaps gaps = { .budget.left = MEMORY_MAX };
	const struct trace_waits_also also = { take_gap_event, &gaps };
	struct trace_index *index = NULL;
	int err;

	*sched = NULL;
	*waits = NULL;
	trace_index_read_beside(path, &index);
	err = trace_sched_read(path, index, progress, sched);
	trace_index_free(&index);
	gaps.sched = *sched;
	if (!err)
		err = trace_waits_read(path, *sched ? &also : NULL, progress,
				       waits);
	if (!err && *sched)
		err = take_last_gaps(&gaps, (*waits)->reader)
			      ?: add_unread_waits(&gaps, *waits);
	for (uint32_t i = 0; gaps.threads && i < gaps.thread_room; i++)
		free(gaps.threads[i].calls.values);
	free(gaps.threads);
	free(gaps.gaps);
	free(gaps.reads);
	if (err) {
		trace_sched_free(sched);
		trace_waits_free(waits);
	}
	return err;
}
