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

#include "collector/base/bytes.h"
#include "collector/base/grow.h"
#include "collector/base/random.h"
#include "collector/drain/note.h"
#include "collector/drain/seq_names.h"
#include "collector/record/arena.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/samples/wait_call.h"
#include "collector/trace/encode.h"
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
	struct encoder encoder; /* out is set for each event */
	uint32_t last_iid;
	struct seq_names names;
	struct bytes fields, interned; /* of one event */
	struct bytes out;
};

static const struct recording_setup *setup_of(const struct thread *thread)
{
	return recording_setup(thread->setup->arena_setup->recording);
}

static struct thread_waits *start_waits_of_thread(struct thread *thread)
{
	struct thread_waits *waits = calloc(1, sizeof(*waits));
	uint8_t packet[PACKET_BYTES];
	uint32_t sequence;

	if (!waits)
		return NULL;
	sequence = recording_sequence(thread->setup->arena_setup->recording);
	waits->uuid = random_u64();
	encoder_init(&waits->encoder, sequence, 0);
	seq_names_init(&waits->names, setup_of(thread)->budget,
		       &waits->last_iid);
	bytes_put(&waits->out, packet,
		  out_track_sequence(packet, sizeof(packet), sequence));
	return waits;
}

static struct thread_waits *get_waits(struct thread *thread)
{
	if (!thread->waits)
		thread->waits = start_waits_of_thread(thread);
	return thread->waits;
}

static void put_wait_event(struct thread_waits *waits,
			   enum trace_event_type type, uint64_t ns,
			   uint32_t name_iid)
{
	const struct encode_event event = {
		.type = type,
		.name_iid = name_iid,
		.fields = waits->fields.at,
		.field_bytes = waits->fields.count,
		.interned = waits->interned.at,
		.interned_bytes = waits->interned.count,
	};
	size_t before = waits->out.count;
	uint8_t *at = bytes_add(&waits->out, encode_event_bytes(&event));

	waits->out.failed |= waits->fields.failed || waits->interned.failed;
	if (at) {
		/* A step from 0 is the time itself. */
		waits->encoder.last_ns = 0;
		waits->encoder.out = at;
		encode_event(&waits->encoder, ns, &event);
		waits->out.count = before + (size_t)(waits->encoder.out - at);
	}
	bytes_clear(&waits->fields);
	bytes_clear(&waits->interned);
}

/* Writes @wait on @track. Its first wait also writes the description @as. */
static void put_thread_wait(struct thread *thread, struct waits_track *track,
			    const struct out_track *as,
			    const struct thread_wait *wait)
{
	struct thread_waits *waits = thread->waits;
	size_t bytes;
	uint32_t iid;
	const struct wait_call_kind *call;

	if (!trace_file_admits(setup_of(thread)->trace))
		return;
	if (!track->described) {
		uint8_t packet[PACKET_BYTES];

		trace_file_append(setup_of(thread)->trace, OUT_SEQUENCE_GLOBAL,
				  packet,
				  out_track_track(packet, sizeof(packet), as));
	}
	track->described = true;
	bytes = strlen(wait->object);
	iid = seq_names_event(&waits->names, wait->object, bytes,
			      &waits->interned);
	bytes_field(&waits->fields, TAG_TRACK_EVENT_TRACK_UUID, as->uuid);
	if (!iid)
		bytes_text(&waits->fields, TAG_TRACK_EVENT_NAME, wait->object,
			   bytes);
	put_wait_event(waits, TYPE_SLICE_BEGIN, wait->from_ns, iid);
	call = wait->call ? wait_call_kind((long)wait->call - 1) : NULL;
	bytes_field(&waits->fields, TAG_TRACK_EVENT_TRACK_UUID, as->uuid);
	if (call)
		note_text("perfrec.call", call->name, &waits->names,
			  &waits->fields, &waits->interned);
	put_wait_event(waits, TYPE_SLICE_END, wait->to_ns, 0);
	if (waits->out.count >= FLUSH_BYTES)
		thread_waits_flush(thread);
}

void thread_waits_tell(struct thread *thread, const struct thread_wait *wait)
{
	struct thread_waits *waits = get_waits(thread);

	if (waits)
		put_thread_wait(thread, &waits->own,
				&(struct out_track){ .uuid = waits->uuid,
						     .parent = thread->uuid,
						     .name = OUT_TRACK_WAITS },
				wait);
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

/* After packets that are incomplete no packet follows: it could refer to
 * strings that those have interned. */
void thread_waits_flush(struct thread *thread)
{
	struct thread_waits *waits = thread->waits;

	if (!waits || !waits->out.count || waits->out.failed)
		return;
	trace_file_append(setup_of(thread)->trace, waits->encoder.sequence,
			  waits->out.at, waits->out.count);
	bytes_clear(&waits->out);
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
	seq_names_release(&waits->names);
	bytes_release(&waits->fields);
	bytes_release(&waits->interned);
	bytes_release(&waits->out);
	free(waits->stacks);
	free(waits);
}
