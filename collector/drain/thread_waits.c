/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_waits - a thread records nothing while it waits, so each wait lies
 * inside the span that was open. Its slice has a track of its own nevertheless:
 * a wait is no call, and readers that count calls must not count it. Waits of a
 * thread do not overlap, so the track is one row. Each stack of the thread has
 * another track for its suspensions.
 *
 * The packets are in a separate sequence, whose clock is BOOTTIME: each has its
 * full time. A wait takes some 77 bytes. It is written when it is over, begin
 * and end together, so a trace that stops has no open wait.
 */
#include "collector/drain/thread_waits.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/random.h"
#include "collector/drain/note.h"
#include "collector/drain/wait_events.h"
#include "collector/record/arena.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"

#define PACKET_BYTES 256
#define FLUSH_BYTES 4096

/* A thread may write one slice "suspended" for each SUSPENDED_NS of its time,
 * and can save up SUSPENDED_BURST_NS. A slice costs the collector some 500 ns,
 * so this is 5 % of a CPU. */
#define SUSPENDED_NS 10000u
#define SUSPENDED_BURST_NS 1000000u

/* A track. The track of a stack also stores its last suspension until that is
 * written. */
struct waits_track {
	bool described;
	bool often; /* the stack also ran in that time */
	uint64_t from_ns, to_ns; /* 0, 0: all is written */
};

struct thread_waits {
	uint64_t uuid; /* of the first track; the others follow */
	struct waits_track own;
	struct waits_track *stacks; /* by number */
	uint32_t stack_room;
	uint64_t suspended_ns; /* earliest time of the next slice */
	struct wait_events events;
};

static const struct recording_setup *setup_of(const struct thread *thread)
{
	return recording_setup(thread->setup->arena_setup->recording);
}

static struct thread_waits *start_waits_of_thread(struct thread *thread)
{
	struct thread_waits *waits = calloc(1, sizeof(*waits));

	if (!waits)
		return NULL;
	waits->uuid = random_u64();
	wait_events_init(&waits->events, thread->setup->arena_setup->recording);
	return waits;
}

static struct thread_waits *get_waits(struct thread *thread)
{
	if (!thread->waits)
		thread->waits = start_waits_of_thread(thread);
	return thread->waits;
}

/* Writes the description @as of @track, once. */
static void describe_waits(const struct thread *thread,
			   struct waits_track *track,
			   const struct out_track *as)
{
	uint8_t packet[PACKET_BYTES];

	if (!track->described)
		trace_file_append(setup_of(thread)->trace, OUT_SEQUENCE_GLOBAL,
				  packet,
				  out_track_track(packet, sizeof(packet), as));
	track->described = true;
}

/* Writes @wait on @track. Its first wait also writes the description @as. */
static void put_thread_wait(struct thread *thread, struct waits_track *track,
			    const struct out_track *as,
			    const struct thread_wait *wait)
{
	struct wait_events *events = &thread->waits->events;

	if (!trace_file_admits(setup_of(thread)->trace))
		return;
	describe_waits(thread, track, as);
	wait_events_put_wait(events, as->uuid, wait);
	if (events->out.count >= FLUSH_BYTES)
		thread_waits_flush(thread);
}

static struct out_track track_of_waits(const struct thread *thread)
{
	return (struct out_track){ .uuid = thread->waits->uuid,
				   .parent = thread->uuid,
				   .name = OUT_TRACK_WAITS };
}

uint64_t thread_waits_track(struct thread *thread)
{
	struct thread_waits *waits = get_waits(thread);
	struct out_track as;

	if (!waits)
		return 0;
	as = track_of_waits(thread);
	describe_waits(thread, &waits->own, &as);
	return waits->uuid;
}

void thread_waits_tell(struct thread *thread, const struct thread_wait *wait)
{
	struct thread_waits *waits = get_waits(thread);
	struct out_track as;

	if (!waits)
		return;
	as = track_of_waits(thread);
	put_thread_wait(thread, &waits->own, &as, wait);
}

void thread_waits_started(struct thread *thread, uint64_t ns, pid_t by)
{
	const uint64_t uuid = thread_waits_track(thread);
	struct wait_events *events;

	if (!uuid || !trace_file_admits(setup_of(thread)->trace))
		return;
	events = &thread->waits->events;
	note_number("started_by_tid", (uint64_t)by, &events->names,
		    &events->fields, &events->interned);
	wait_events_put(events, TYPE_INSTANT, uuid, ns, OUT_STARTED);
}

static void put_suspension(struct thread *thread, uint32_t number)
{
	struct thread_waits *waits = thread->waits;
	struct waits_track *stack = &waits->stacks[number];
	const struct out_track as = {
		.uuid = waits->uuid + 1 + number,
		.parent = thread_stack_uuid(thread, number),
		.name = OUT_TRACK_SUSPENDED,
	};
	const struct thread_wait wait = {
		.from_ns = stack->from_ns,
		.to_ns = stack->to_ns,
		.object = stack->often ? OUT_SUSPENDED_OFTEN : OUT_SUSPENDED
	};

	stack->from_ns = stack->to_ns = 0;
	put_thread_wait(thread, stack, &as, &wait);
}

void thread_waits_suspended(struct thread *thread, uint32_t number,
			    uint64_t from_ns, uint64_t to_ns)
{
	struct thread_waits *waits = get_waits(thread);
	struct waits_track *stack;
	uint64_t next_ns;

	if (!waits ||
	    grow_array_zeroed(waits->stacks, waits->stack_room, number + 1))
		return;
	stack = &waits->stacks[number];
	stack->often = stack->from_ns;
	if (!stack->often)
		stack->from_ns = from_ns;
	stack->to_ns = to_ns;
	next_ns = MAX(waits->suspended_ns,
		      to_ns - MIN(to_ns, SUSPENDED_BURST_NS));
	if (next_ns > to_ns)
		return;
	waits->suspended_ns = next_ns + SUSPENDED_NS;
	put_suspension(thread, number);
}

void thread_waits_flush(struct thread *thread)
{
	if (thread->waits)
		wait_events_flush(&thread->waits->events,
				  setup_of(thread)->trace);
}

void thread_waits_finish(struct thread *thread)
{
	struct thread_waits *waits = thread->waits;

	if (!waits)
		return;
	for (uint32_t i = 0; i < waits->stack_room; i++)
		if (waits->stacks[i].from_ns)
			put_suspension(thread, i);
	thread_waits_flush(thread);
	thread->waits = NULL;
	wait_events_release(&waits->events);
	free(waits->stacks);
	free(waits);
}
