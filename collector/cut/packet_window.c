/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/cut/packet_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/cut/packet_window_inner.h"
#include "collector/read/usual_packet.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"

#define BUDGET_BYTES (UINT64_C(512) << 20)
#define LOST_KEY "perfrec.lost_spans"

/* --- memory -------------------------------------------------------------- */

bool window_keep(struct packet_window *window, struct bytes *to,
		 const void *from, size_t count)
{
	size_t room = to->room;

	bytes_clear(to);
	if (count > room) {
		bytes_release(to);
		budget_give(&window->budget, room);
		if (grow_array_from(&window->budget, to->at, to->room, count)) {
			window->totals.refused++;
			return false;
		}
	}
	bytes_put(to, from, count);
	return true;
}

static void free_sequences(struct packet_window *window)
{
	for (uint32_t i = 0; i < window->sequences.ids.count; i++) {
		struct wsequence *sequence = window->sequences.items[i];

		cut_names_clear(&sequence->names, &window->entries);
		bytes_release(&sequence->start);
	}
	by_id_release(&window->sequences);
}

void packet_window_free(struct packet_window **window)
{
	struct packet_window *self = *window;

	if (!self)
		return;
	free_sequences(self);
	window_tracks_release(self);
	cut_entries_release(&self->entries);
	cut_sched_free(&self->sched);
	bytes_release(&self->packet);
	bytes_release(&self->event);
	bytes_release(&self->interned);
	bytes_release(&self->snapshot);
	bytes_release(&self->clock);
	free(self);
	*window = NULL;
}

static bool has_switches_of(void *context, int32_t tid)
{
	struct packet_window *window = context;

	if (!window_has_thread(window, tid))
		return false;
	window_use_thread(window, tid);
	return true;
}

int packet_window_new(const struct cut_ranges *ranges, struct cut_file *file,
		      const struct cut_threads *threads,
		      struct packet_window **out)
{
	struct packet_window *window = calloc(1, sizeof(*window));

	if (!window)
		return -ENOMEM;
	window->budget.left = BUDGET_BYTES;
	window->ranges = ranges;
	window->end_ns = ranges->at[ranges->count - 1].to;
	window->file = file;
	window->threads = threads;
	cut_entries_init(&window->entries, &window->budget);
	by_id_init(&window->sequences, &window->budget);
	window_tracks_init(window);
	if (cut_sched_new(ranges, file, &window->budget, has_switches_of,
			  window, &window->sched)) {
		packet_window_free(&window);
		return -ENOMEM;
	}
	*out = window;
	return 0;
}

/* --- the state of a sequence --------------------------------------------- */

static struct wsequence *find_wsequence(struct packet_window *window,
					uint64_t id)
{
	struct wsequence *sequence = window->last_sequence;

	if (likely(sequence && sequence->id == id))
		return sequence;
	sequence = by_id_find(&window->sequences, id);
	if (!sequence) {
		sequence = by_id_add(&window->sequences, id, sizeof(*sequence));
		if (!sequence) {
			window->totals.refused++;
			return NULL;
		}
		sequence->id = id;
		sequence->clock_id = CLOCK_BOOTTIME_ID;
	}
	window->last_sequence = sequence;
	return sequence;
}

static void take_defaults(struct packet_window *window,
			  struct wsequence *sequence, struct wire fields)
{
	struct sequence_defaults defaults = sequence_defaults_of(fields);

	if (defaults.has_clock)
		sequence->clock_id = defaults.clock;
	if (defaults.has_track)
		sequence->track = window_track(window, defaults.track);
}

static void take_start(struct packet_window *window,
		       const struct wpacket *packet)
{
	struct wsequence *sequence = packet->sequence;
	struct wire fields = { packet->bytes.at,
			       packet->bytes.at + packet->bytes.count };
	struct wire_field field;

	window_forget_templates(window);
	sequence->sets_clock = false;
	if (packet->flags & SEQUENCE_CLEARED)
		cut_names_restart(&sequence->names);
	while (wire_next(&fields, &field))
		if (field.tag == TAG_TRACE_PACKET_TRACE_PACKET_DEFAULTS)
			take_defaults(window, sequence, wire_of(&field));
		else if (field.tag == TAG_TRACE_PACKET_CLOCK_SNAPSHOT)
			sequence->sets_clock |= snapshot_time(
				wire_of(&field), &sequence->start_ns);
	if (sequence->sets_clock)
		sequence->clock_ns = sequence->start_ns;
	window_keep_start(window, packet);
	sequence->started = false;
}

/* --- parsing a packet ---------------------------------------------------- */

static void take_apart_field(struct wpacket *packet,
			     const struct wire_field *field)
{
	uint64_t ns;

	switch (field->tag) {
	case TAG_TRACE_PACKET_TIMESTAMP:
		packet->stamp = field->value;
		packet->has_stamp = true;
		break;
	case TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
		packet->clock_id = field->value;
		packet->has_clock = true;
		break;
	case TAG_TRACE_PACKET_SEQUENCE_FLAGS:
		packet->flags = field->value;
		packet->is_start |= field->value & SEQUENCE_CLEARED;
		break;
	case TAG_TRACE_PACKET_TRACE_PACKET_DEFAULTS:
		packet->is_start = true;
		break;
	case TAG_TRACE_PACKET_CLOCK_SNAPSHOT:
		if (snapshot_time(wire_of(field), &ns))
			packet->is_start = true;
		else
			packet->is_other = true;
		break;
	case TAG_TRACE_PACKET_TRACK_EVENT:
		packet->event = wire_of(field);
		break;
	case TAG_TRACE_PACKET_PERF_SAMPLE:
		packet->sample = wire_of(field);
		break;
	case TAG_TRACE_PACKET_PROFILE_PACKET:
		packet->heap = wire_of(field);
		break;
	case TAG_TRACE_PACKET_INTERNED_DATA:
		packet->interned = wire_of(field);
		break;
	case TAG_TRACE_PACKET_TRACK_DESCRIPTOR:
		packet->descriptor = wire_of(field);
		break;
	case TAG_TRACE_PACKET_FTRACE_EVENTS:
		packet->switches = wire_of(field);
		break;
	case TAG_TRACE_PACKET_TRACE_ATTRIBUTES:
		packet->attributes = wire_of(field);
		break;
	case TAG_TRACE_PACKET_TRACE_UUID:
		packet->uuid = wire_of(field);
		break;
	case TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
	/* Only fills space (kept_head.c). */
	case TAG_TRACE_PACKET_SYNCHRONIZATION_MARKER:
	/* The cut counts its own losses. */
	case TAG_TRACE_PACKET_TRACE_STATS:
	case TAG_TRACE_PACKET_PREVIOUS_PACKET_DROPPED:
		break;
	default:
		packet->is_other = true;
	}
}

static void take_apart(struct wpacket *packet)
{
	struct wire fields = { packet->bytes.at,
			       packet->bytes.at + packet->bytes.count };
	struct wire_field field;

	while (wire_next(&fields, &field))
		take_apart_field(packet, &field);
}

/* Sets *@ns to the time of @packet, and moves the clock of its sequence by a
 * step. Returns false without a known time. */
static bool packet_time(const struct wpacket *packet, uint64_t *ns,
			bool *is_step)
{
	struct wsequence *sequence = packet->sequence;
	uint64_t clock =
		packet->has_clock ? packet->clock_id : sequence->clock_id;

	*is_step = is_clock_of_sequence(clock);
	if (!packet->has_stamp)
		return false;
	*ns = packet->stamp;
	if (*is_step)
		*ns = sequence->clock_ns += packet->stamp;
	return *is_step || clock == CLOCK_BOOTTIME_ID;
}

/* --- events -------------------------------------------------------------- */

static void note_time(struct packet_window *window, const struct wtrack *track,
		      uint64_t ns)
{
	struct packet_window_totals *totals = &window->totals;

	/* A thread may wait before its first call and after its last one. */
	if (track && track->is_waits)
		return;
	if (unlikely(!totals->first_ns || ns < totals->first_ns))
		totals->first_ns = ns;
	totals->last_ns = MAX(totals->last_ns, ns);
}

struct wevent {
	struct wtrack *track;
	uint64_t type, name_iid;
	struct wire fields;
	bool plain;
};

static struct wevent event_of(struct packet_window *window,
			      const struct wpacket *packet)
{
	struct wevent event = { .track = packet->sequence->track,
				.fields = packet->event,
				.plain = true };
	struct wire fields = packet->event;
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_TRACK_EVENT_TYPE) {
			event.type = field.value;
		} else if (field.tag == TAG_TRACK_EVENT_NAME_IID) {
			event.name_iid = field.value;
		} else {
			event.plain = false;
			if (field.tag == TAG_TRACK_EVENT_TRACK_UUID)
				event.track = window_track(window, field.value);
		}
	return event;
}

/* Begins or ends a slice of @sequence at *@ns, after raising *@ns to the last
 * time of the track. @fields: of a BEGIN with more than a name. Returns true if
 * the cut has the event. */
static bool take_slice(struct packet_window *window, struct wsequence *sequence,
		       const struct wevent *event, struct wire fields,
		       uint64_t *ns)
{
	struct wtrack *track = event->track;

	*ns = MAX(*ns, track->now_ns);
	track->now_ns = *ns;
	window_advance(window, track, *ns);
	if (event->type == TYPE_SLICE_END)
		return window_pop(window, track) && track->inside;
	window_push(window, track, sequence, *ns, event->name_iid, fields);
	return track->inside && !track->deeper;
}

static void count_slice(struct packet_window *window, struct wtrack *track,
			uint64_t ns)
{
	track->has_slices = true;
	if (track->is_waits)
		return;
	window->totals.slices++;
	window_note_begin(window, ns);
}

static void note_loss(struct packet_window *window,
		      const struct wpacket *packet)
{
	struct wire fields = packet->event;
	struct wire_field field;

	while (wire_next(&fields, &field)) {
		struct wire annotation = wire_of(&field);
		uint64_t lost = 0;
		bool is_loss = false;

		if (field.tag != TAG_TRACK_EVENT_DEBUG_ANNOTATIONS)
			continue;
		while (wire_next(&annotation, &field))
			if (field.tag == TAG_DEBUG_ANNOTATION_INT_VALUE)
				lost = field.value;
			else if (field.tag == TAG_DEBUG_ANNOTATION_NAME)
				is_loss = field.value == strlen(LOST_KEY) &&
					  memcmp(field.bytes, LOST_KEY,
						 field.value) == 0;
		if (!is_loss)
			continue;
		packet->sequence->lossy = true;
		window->totals.lost += lost;
	}
}

/* Handles an event of no slice. Returns true if the cut has it. */
static bool take_point(struct packet_window *window,
		       const struct wpacket *packet, const struct wevent *event,
		       uint64_t ns)
{
	bool inside = cut_ranges_has(window->ranges, ns);

	/* A wait that began before the range begins here in the cut: its
	 * instant must not come first. */
	if (event->type == TYPE_INSTANT && event->track->is_waits &&
	    event->track->slice_count && ns >= event->track->now_ns)
		window_advance(window, event->track, ns);
	if (event->type == TYPE_COUNTER || event->type == TYPE_STATE)
		window_note_last(window, event->track, packet->sequence, ns,
				 packet->event);
	if (!inside || !window_has_track(window, event->track))
		return false;
	if (event->type == TYPE_INSTANT &&
	    event->track == packet->sequence->track)
		note_loss(window, packet);
	return true;
}

static void take_event(struct packet_window *window,
		       const struct wpacket *packet)
{
	struct wsequence *sequence = packet->sequence;
	struct wevent event = event_of(window, packet);
	const struct wire nothing = { NULL, NULL };
	bool is_step, has;
	uint64_t ns;

	if (!packet_time(packet, &ns, &is_step) || !event.track ||
	    event.type < TYPE_SLICE_BEGIN || event.type > TYPE_STATE) {
		window->totals.bad_events++;
		return;
	}
	note_time(window, event.track, ns);
	/* Begins the open slices of the sequence before its clock advances. */
	if (is_step && sequence->track && ns >= sequence->track->now_ns)
		window_advance(window, sequence->track, ns);
	if (event.type == TYPE_SLICE_BEGIN || event.type == TYPE_SLICE_END)
		has = take_slice(window, sequence, &event,
				 event.plain ? nothing : packet->event, &ns) &&
		      window_has_track(window, event.track);
	else
		has = take_point(window, packet, &event, ns);
	if (!has)
		return;
	if (event.type == TYPE_SLICE_BEGIN)
		count_slice(window, event.track, ns);
	window_use_track(window, event.track);
	window_put_packet(window, packet, ns, is_step);
}

static void take_sample(struct packet_window *window,
			const struct wpacket *packet)
{
	struct wire fields = packet->sample;
	struct wire_field field;
	int64_t tid = 0;
	bool is_step;
	uint64_t ns;

	if (!packet_time(packet, &ns, &is_step)) {
		window->totals.bad_events++;
		return;
	}
	while (wire_next(&fields, &field))
		if (field.tag == TAG_PERF_SAMPLE_TID)
			tid = (int64_t)field.value;
	note_time(window, NULL, ns);
	if (!cut_ranges_has(window->ranges, ns) ||
	    !window_has_thread(window, tid))
		return;
	window_use_thread(window, tid);
	window_put_packet(window, packet, ns, is_step);
}

/* Memory blocks by their stacks; all numbers count from the start of the
 * recording. */
static void take_heap(struct packet_window *window,
		      const struct wpacket *packet)
{
	bool is_step;
	uint64_t ns;

	if (packet_time(packet, &ns, &is_step) &&
	    cut_ranges_has(window->ranges, ns))
		window_put_packet(window, packet, ns, is_step);
}

/* --- packets ------------------------------------------------------------- */

static void put_usual(struct packet_window *window,
		      const struct trace_packet_bytes *bytes,
		      const struct wevent *event, uint64_t step, uint64_t ns)
{
	const struct wpacket packet = { .sequence = window->last_sequence,
					.bytes = *bytes,
					.stamp = step,
					.has_stamp = true,
					.event = event->fields };

	if (!window_has_track(window, event->track))
		return;
	if (event->type == TYPE_SLICE_BEGIN)
		count_slice(window, event->track, ns);
	window_put_packet(window, &packet, ns, true);
}

/* Takes a usual packet of the last sequence. Returns false for others. */
static bool take_usual(struct packet_window *window,
		       const struct trace_packet_bytes *bytes)
{
	const struct wire nothing = { NULL, NULL };
	const struct wire fields = { bytes->at, bytes->at + bytes->count };
	struct wsequence *sequence = window->last_sequence;
	struct usual_packet usual;
	struct wevent event;
	uint64_t ns;

	if (!sequence || !sequence->track ||
	    !is_clock_of_sequence(sequence->clock_id) ||
	    !usual_packet_take(fields, sequence->id, &usual))
		return false;
	ns = sequence->clock_ns += usual.step;
	event = (struct wevent){ .plain = true,
				 .type = usual.type,
				 .name_iid = usual.name_iid,
				 .track = sequence->track,
				 .fields = usual.event };
	note_time(window, event.track, ns);
	if (take_slice(window, sequence, &event, nothing, &ns))
		put_usual(window, bytes, &event, usual.step, ns);
	return true;
}

static void take_other(struct packet_window *window,
		       const struct wpacket *packet)
{
	bool is_step;
	uint64_t ns;

	if (packet->has_stamp && (!packet_time(packet, &ns, &is_step) ||
				  !cut_ranges_has(window->ranges, ns)))
		return;
	cut_file_packet(window->file, packet->bytes.at, packet->bytes.count);
}

static void take_seldom(struct packet_window *window,
			const struct trace_packet_bytes *bytes)
{
	struct wpacket packet = { .bytes = *bytes };

	take_apart(&packet);
	packet.sequence = find_wsequence(
		window, packet_sequence_id((struct wire){
				bytes->at, bytes->at + bytes->count }));
	if (!packet.sequence)
		return;
	if (packet.is_start)
		take_start(window, &packet);
	if (packet.interned.at) {
		cut_names_take(&packet.sequence->names, &window->entries,
			       packet.interned);
		window_forget_templates(window);
	}
	if (packet.descriptor.at)
		window_describe(window, &packet);
	if (packet.switches.at &&
	    !cut_sched_take(window->sched, (uint32_t)packet.sequence->id,
			    packet.switches))
		window->totals.refused++;
	if (packet.event.at)
		take_event(window, &packet);
	else if (packet.sample.at)
		take_sample(window, &packet);
	else if (packet.heap.at)
		take_heap(window, &packet);
	else if (packet.attributes.at)
		window_put_attributes(window, &packet);
	else if (packet.uuid.at)
		window_put_uuid(window, &packet);
	else if (packet.is_other && !packet.is_start && !packet.switches.at)
		take_other(window, &packet);
}

void packet_window_take(struct packet_window *window,
			const struct trace_packet_bytes *bytes)
{
	window->totals.packets++;
	if (unlikely(!take_usual(window, bytes)))
		take_seldom(window, bytes);
}

/* --- skipped packets ----------------------------------------------------- */

void packet_window_restart(struct packet_window *window, uint32_t id,
			   uint64_t ns)
{
	struct wsequence *sequence = find_wsequence(window, id);
	struct wtrack *track = sequence ? sequence->track : NULL;

	if (!sequence)
		return;
	sequence->clock_ns = ns;
	if (!track)
		return;
	window_advance(window, track, ns);
	track->slice_count = 0;
	track->deeper = 0;
	/* The begins that follow are earlier. */
	track->now_ns = 0;
}

void packet_window_pass(struct packet_window *window, uint64_t uuid,
			uint64_t count, uint64_t ns)
{
	struct wtrack *track = window_track(window, uuid);

	if (!track)
		return;
	window_advance(window, track, MAX(ns, track->now_ns));
	track->slice_count = (uint32_t)MIN(track->slice_count, count);
	track->deeper = 0;
}

void packet_window_switch(struct packet_window *window, uint32_t sequence,
			  const struct trace_switch *at)
{
	if (!cut_sched_pass(window->sched, sequence, at))
		window->totals.refused++;
}

void packet_window_reach(struct packet_window *window, uint64_t ns)
{
	note_time(window, NULL, ns);
}

/* --- the end ------------------------------------------------------------- */

/* Marks sequences with losses, and reports the losses. */
static void put_losses(struct packet_window *window)
{
	uint32_t count = 0, all = window->sequences.ids.count;
	size_t size = OUT_LOSSES_BYTES(all);
	uint32_t *lossy = calloc((size_t)all + 1, sizeof(*lossy));
	uint8_t *packets = malloc(size);

	for (uint32_t i = 0; lossy && packets && i < all; i++) {
		const struct wsequence *sequence = window->sequences.items[i];

		if (sequence->lossy && sequence->started)
			lossy[count++] = (uint32_t)sequence->id;
	}
	if (count)
		cut_file_put(window->file, packets,
			     out_perfetto_losses(packets, size, lossy, count,
						 window->totals.lost));
	free(packets);
	free(lossy);
}

void packet_window_end(struct packet_window *window)
{
	window_tracks_end(window, window->totals.last_ns);
	cut_sched_end(window->sched,
		      MIN(window->totals.last_ns, window->end_ns));
	put_losses(window);
}

struct packet_window_totals packet_window_totals(
	const struct packet_window *window)
{
	struct packet_window_totals totals = window->totals;

	totals.refused += window->entries.refused;
	return totals;
}
