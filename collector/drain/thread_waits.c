/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_waits - a thread records nothing while it waits, so each wait lies
 * inside the span that was open. Its slice is nevertheless on a track of its
 * own: it is no call, and nobody who counts calls should have to tell the two
 * apart. Waits of a thread do not overlap, so the track is one row.
 *
 * The packets are on a sequence of their own, whose clock is BOOTTIME: each has
 * its whole time. A wait takes some 77 bytes. A wait is written when it is
 * over, begin and end together, so a trace that stops has no open one.
 */
#include "collector/drain/thread_waits.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/base/random.h"
#include "collector/notes/note.h"
#include "collector/notes/seq_names.h"
#include "collector/record/arena.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"
#include "collector/waits/wait_call.h"

#define PACKET_BYTES 256
#define FLUSH_BYTES 4096

struct thread_waits {
	uint64_t uuid; /* of the track */
	struct encoder encoder; /* out is set for each event */
	uint32_t last_iid;
	struct seq_names names;
	struct bytes fields, interned; /* of one event */
	struct bytes out; /* packets */
};

static const struct recording_setup *setup_of(const struct thread *thread)
{
	return recording_setup(thread->setup->arena_setup->recording);
}

static void describe_track(const struct thread *thread, uint64_t uuid)
{
	const struct out_track track = { .uuid = uuid,
					 .parent = thread->uuid,
					 .name = OUT_TRACK_WAITS };
	uint8_t packet[PACKET_BYTES];

	trace_file_append(setup_of(thread)->trace, OUT_SEQUENCE_GLOBAL, packet,
			  out_track_track(packet, sizeof(packet), &track));
}

static struct thread_waits *start(struct thread *thread)
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
	describe_track(thread, waits->uuid);
	bytes_put(&waits->out, packet,
		  out_track_sequence(packet, sizeof(packet), sequence));
	return waits;
}

/* An event with what is in waits->fields and waits->interned, both of which it
 * clears. */
static void put_event(struct thread_waits *waits, enum trace_event_type type,
		      uint64_t ns, uint32_t name_iid)
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

static void put_begin(struct thread_waits *waits,
		      const struct thread_wait *wait)
{
	size_t bytes = strlen(wait->object);
	uint32_t iid = seq_names_event(&waits->names, wait->object, bytes,
				       &waits->interned);

	bytes_field(&waits->fields, TAG_TRACK_EVENT_TRACK_UUID, waits->uuid);
	if (!iid)
		bytes_text(&waits->fields, TAG_TRACK_EVENT_NAME, wait->object,
			   bytes);
	put_event(waits, TYPE_SLICE_BEGIN, wait->from_ns, iid);
}

static void put_end(struct thread_waits *waits, const struct thread_wait *wait)
{
	const struct wait_call_kind *call =
		wait->call ? wait_call_kind((long)wait->call - 1) : NULL;

	bytes_field(&waits->fields, TAG_TRACK_EVENT_TRACK_UUID, waits->uuid);
	if (call)
		note_text("perfrec.call", call->name, &waits->names,
			  &waits->fields, &waits->interned);
	put_event(waits, TYPE_SLICE_END, wait->to_ns, 0);
}

void thread_waits_tell(struct thread *thread, const struct thread_wait *wait)
{
	if (!trace_file_admits(setup_of(thread)->trace))
		return;
	if (!thread->waits)
		thread->waits = start(thread);
	if (!thread->waits)
		return;
	put_begin(thread->waits, wait);
	put_end(thread->waits, wait);
	if (thread->waits->out.count >= FLUSH_BYTES)
		thread_waits_flush(thread);
}

/* After packets that could not be written whole, none follow: they would rely
 * on what those have interned. */
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
	thread_waits_flush(thread);
	thread->waits = NULL;
	seq_names_release(&waits->names);
	bytes_release(&waits->fields);
	bytes_release(&waits->interned);
	bytes_release(&waits->out);
	free(waits);
}
