/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/wait_events.h"

#include <string.h>

#include "collector/drain/note.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/samples/wait_call.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"

#define SEQUENCE_BYTES 256

void wait_events_init(struct wait_events *events, struct recording *recording)
{
	const uint32_t sequence = recording_sequence(recording);
	uint8_t packet[SEQUENCE_BYTES];

	memset(events, 0, sizeof(*events));
	encoder_init(&events->encoder, sequence, 0);
	seq_names_init(&events->names, recording_setup(recording)->budget,
		       &events->last_iid);
	bytes_put(&events->out, packet,
		  out_track_sequence(packet, sizeof(packet), sequence));
}

void wait_events_release(struct wait_events *events)
{
	seq_names_release(&events->names);
	bytes_release(&events->fields);
	bytes_release(&events->interned);
	bytes_release(&events->out);
}

void wait_events_put(struct wait_events *events, enum trace_event_type type,
		     uint64_t uuid, uint64_t ns, const char *name)
{
	struct encode_event event = { .type = type };
	size_t bytes = name ? strlen(name) : 0, before = events->out.count;
	uint8_t *at;

	bytes_field(&events->fields, TAG_TRACK_EVENT_TRACK_UUID, uuid);
	if (name)
		event.name_iid = seq_names_event(&events->names, name, bytes,
						 &events->interned);
	if (name && !event.name_iid)
		bytes_text(&events->fields, TAG_TRACK_EVENT_NAME, name, bytes);
	event.fields = events->fields.at;
	event.field_bytes = events->fields.count;
	event.interned = events->interned.at;
	event.interned_bytes = events->interned.count;
	at = bytes_add(&events->out, encode_event_bytes(&event));
	events->out.failed |= events->fields.failed || events->interned.failed;
	if (at) {
		/* A step from 0 is the time itself. */
		events->encoder.last_ns = 0;
		events->encoder.out = at;
		encode_event(&events->encoder, ns, &event);
		events->out.count = before + (size_t)(events->encoder.out - at);
	}
	bytes_clear(&events->fields);
	bytes_clear(&events->interned);
}

void wait_events_put_waker(struct wait_events *events,
			   const struct thread_waker *waker)
{
	if (!waker->name)
		return;
	note_text("woken_by", waker->name, &events->names, &events->fields,
		  &events->interned);
	if (waker->tid)
		note_number("woken_by_tid", (uint64_t)waker->tid,
			    &events->names, &events->fields, &events->interned);
}

void wait_events_put_wait(struct wait_events *events, uint64_t uuid,
			  const struct thread_wait *wait)
{
	const struct wait_call_kind *call =
		wait->call ? wait_call_kind((long)wait->call - 1) : NULL;

	wait_events_put_waker(events, &wait->waker);
	wait_events_put(events, TYPE_SLICE_BEGIN, uuid, wait->from_ns,
			wait->object);
	if (call)
		note_text("perfrec.call", call->name, &events->names,
			  &events->fields, &events->interned);
	wait_events_put(events, TYPE_SLICE_END, uuid, wait->to_ns, NULL);
}

/* After packets that are incomplete no packet follows: it could refer to
 * strings that those have interned. */
void wait_events_flush(struct wait_events *events, struct trace_file *trace)
{
	if (!events->out.count || events->out.failed)
		return;
	trace_file_append(trace, events->encoder.sequence, events->out.at,
			  events->out.count);
	bytes_clear(&events->out);
}
