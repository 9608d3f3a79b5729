/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "collector/cut/packet_window_inner.h"
#include "collector/trace/fields.h"
#include "shared/hash.h"

/* Bytes of names in a packet of names, or a little more. */
#define NAMES_BYTES (64u << 10)

static void begin_packet(struct packet_window *window,
			 const struct wsequence *sequence)
{
	bytes_clear(&window->packet);
	bytes_field(&window->packet,
		    TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence->id);
}

/* Without memory, the rest of the cut is useless. */
static void end_packet(struct packet_window *window)
{
	if (window->packet.failed || window->event.failed ||
	    window->interned.failed || window->snapshot.failed ||
	    window->clock.failed)
		window->file->pending.failed = true;
	else
		cut_file_packet(window->file, window->packet.at,
				window->packet.count);
}

/* --- the first packet of a sequence -------------------------------------- */

static bool is_of_start(uint32_t tag)
{
	switch (tag) {
	case TAG_TRACE_PACKET_TIMESTAMP:
	case TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
	case TAG_TRACE_PACKET_TRACK_EVENT:
	case TAG_TRACE_PACKET_INTERNED_DATA:
	case TAG_TRACE_PACKET_PERF_SAMPLE:
	case TAG_TRACE_PACKET_TRACK_DESCRIPTOR:
	case TAG_TRACE_PACKET_PREVIOUS_PACKET_DROPPED:
		return false;
	}
	return true;
}

void window_keep_start(struct packet_window *window,
		       const struct wpacket *packet)
{
	struct wire fields = { packet->bytes.at,
			       packet->bytes.at + packet->bytes.count };
	struct bytes *out = &window->packet;
	struct wire_field field;
	const uint8_t *from = fields.at;

	bytes_clear(out);
	for (; wire_next(&fields, &field); from = fields.at)
		if (is_of_start(field.tag))
			bytes_put(out, from, (size_t)(fields.at - from));
	(void)window_keep(window, &packet->sequence->start, out->at,
			  out->count);
}

static void put_clock(struct bytes *out, struct wire clock, uint64_t ns,
		      struct bytes *scratch)
{
	struct wire_field field;
	const uint8_t *from = clock.at;

	bytes_clear(scratch);
	for (; wire_next(&clock, &field); from = clock.at)
		if (field.tag != TAG_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP)
			bytes_put(scratch, from, (size_t)(clock.at - from));
	bytes_field(scratch, TAG_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, ns);
	bytes_part(out, TAG_CLOCK_SNAPSHOT_CLOCKS, scratch->at, scratch->count);
}

/* Makes window->snapshot, with @ns as the time of all clocks: the sequence's
 * own, and BOOTTIME. */
static void make_snapshot(struct packet_window *window, struct wire snapshot,
			  uint64_t ns)
{
	struct bytes *out = &window->snapshot;
	struct wire_field field;
	const uint8_t *from = snapshot.at;

	bytes_clear(out);
	for (; wire_next(&snapshot, &field); from = snapshot.at)
		if (field.tag == TAG_CLOCK_SNAPSHOT_CLOCKS)
			put_clock(out, wire_of(&field), ns, &window->clock);
		else
			bytes_put(out, from, (size_t)(snapshot.at - from));
}

static void put_start(struct packet_window *window,
		      const struct wsequence *sequence)
{
	struct wire fields = { sequence->start.at,
			       sequence->start.at + sequence->start.count };
	struct bytes *out = &window->packet;
	struct wire_field field;
	const uint8_t *from = fields.at;

	bytes_clear(out);
	for (; wire_next(&fields, &field); from = fields.at)
		if (field.tag == TAG_TRACE_PACKET_CLOCK_SNAPSHOT) {
			make_snapshot(window, wire_of(&field),
				      sequence->out_ns);
			bytes_part(out, field.tag, window->snapshot.at,
				   window->snapshot.count);
		} else {
			bytes_put(out, from, (size_t)(fields.at - from));
		}
	end_packet(window);
}

void window_start(struct packet_window *window, struct wsequence *sequence,
		  uint64_t ns)
{
	const struct cut_ranges *ranges = window->ranges;
	uint32_t number;

	if (likely(sequence->started))
		return;
	sequence->started = true;
	window_use_track(window, sequence->track);
	if (!sequence->start.count)
		return;
	number = cut_ranges_after(ranges, ns);
	if (sequence->sets_clock) {
		sequence->out_ns = sequence->start_ns;
		if (number < ranges->count)
			sequence->out_ns = MAX(sequence->start_ns,
					       ranges->at[number].from);
		sequence->out_ns = MIN(sequence->out_ns, ns);
	}
	put_start(window, sequence);
}

void window_start_as_is(struct packet_window *window,
			struct wsequence *sequence)
{
	sequence->started = true;
	window_use_track(window, sequence->track);
	sequence->out_ns = sequence->clock_ns;
	if (sequence->start.count)
		put_start(window, sequence);
}

/* --- names --------------------------------------------------------------- */

static void put_interned_packet(struct packet_window *window,
				const struct wsequence *sequence)
{
	if (!window->interned.count && !window->interned.failed)
		return;
	begin_packet(window, sequence);
	bytes_part(&window->packet, TAG_TRACE_PACKET_INTERNED_DATA,
		   window->interned.at, window->interned.count);
	end_packet(window);
}

/* Writes the names of an event, a sample and a heap that the cut lacks. at is
 * NULL if there is none. */
static void use_names(struct packet_window *window, struct wsequence *sequence,
		      struct wire event, struct wire sample, struct wire heap)
{
	struct bytes *out = &window->interned;

	bytes_clear(out);
	cut_names_use_event(&sequence->names, &window->entries, event, out);
	cut_names_use_sample(&sequence->names, &window->entries, sample, out);
	cut_names_use_heap(&sequence->names, &window->entries, heap, out);
	put_interned_packet(window, sequence);
}

void window_put_names(struct packet_window *window, struct wsequence *sequence)
{
	struct bytes *out = &window->interned;

	for (unsigned int kind = 0; kind < CUT_NAME_KINDS; kind++) {
		uint64_t iid = 0;

		do {
			bytes_clear(out);
			iid = cut_names_use_from(&sequence->names,
						 &window->entries, kind, iid,
						 NAMES_BYTES, out);
			put_interned_packet(window, sequence);
		} while (iid);
	}
}

/* --- events -------------------------------------------------------------- */

/* Appends a time to the packet: a step of the sequence's clock, if that is not
 * later. */
static void put_packet_time(struct packet_window *window,
			    struct wsequence *sequence, uint64_t ns)
{
	struct bytes *out = &window->packet;
	bool has_clock = is_clock_of_sequence(sequence->clock_id);

	if (has_clock && (window->leaves ? ns == sequence->out_ns
					 : ns >= sequence->out_ns)) {
		bytes_field(out, TAG_TRACE_PACKET_TIMESTAMP,
			    ns - sequence->out_ns);
		sequence->out_ns = ns;
		return;
	}
	bytes_field(out, TAG_TRACE_PACKET_TIMESTAMP, ns);
	if (sequence->clock_id != CLOCK_BOOTTIME_ID)
		bytes_field(out, TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
			    CLOCK_BOOTTIME_ID);
}

void window_put_event(struct packet_window *window, struct wsequence *sequence,
		      uint64_t ns)
{
	const struct bytes *event = &window->event;
	const struct wire none = { NULL, NULL };

	window_start(window, sequence, ns);
	use_names(window, sequence,
		  (struct wire){ event->at, event->at + event->count }, none,
		  none);
	begin_packet(window, sequence);
	bytes_part(&window->packet, TAG_TRACE_PACKET_TRACK_EVENT, event->at,
		   event->count);
	put_packet_time(window, sequence, ns);
	end_packet(window);
}

/* Returns true if a field goes into the cut unchanged although the time
 * changes. */
static bool is_kept(uint32_t tag)
{
	switch (tag) {
	case TAG_TRACE_PACKET_TIMESTAMP:
	case TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
	case TAG_TRACE_PACKET_CLOCK_SNAPSHOT:
	case TAG_TRACE_PACKET_TRACE_PACKET_DEFAULTS:
	case TAG_TRACE_PACKET_INTERNED_DATA:
	case TAG_TRACE_PACKET_TRACK_DESCRIPTOR:
	case TAG_TRACE_PACKET_PREVIOUS_PACKET_DROPPED:
		return false;
	}
	return true;
}

static void put_changed(struct packet_window *window,
			const struct wpacket *packet, uint64_t ns, bool is_step)
{
	struct wire fields = { packet->bytes.at,
			       packet->bytes.at + packet->bytes.count };
	struct bytes *out = &window->packet;
	struct wire_field field;
	const uint8_t *from = fields.at;

	bytes_clear(out);
	for (; wire_next(&fields, &field); from = fields.at)
		if (is_kept(field.tag) &&
		    (field.tag != TAG_TRACE_PACKET_SEQUENCE_FLAGS ||
		     !packet->is_start))
			bytes_put(out, from, (size_t)(fields.at - from));
	if (is_step) {
		put_packet_time(window, packet->sequence, ns);
	} else {
		bytes_field(out, TAG_TRACE_PACKET_TIMESTAMP, ns);
		if (packet->has_clock ||
		    packet->sequence->clock_id != CLOCK_BOOTTIME_ID)
			bytes_field(out, TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
				    CLOCK_BOOTTIME_ID);
	}
	end_packet(window);
}

/* Returns true if the time of @packet means the same in the cut. */
static bool is_in_step(const struct wpacket *packet, uint64_t ns, bool is_step)
{
	return is_step ? packet->sequence->out_ns + packet->stamp == ns
		       : packet->stamp == ns;
}

void window_put_packet(struct packet_window *window,
		       const struct wpacket *packet, uint64_t ns, bool is_step)
{
	struct wsequence *sequence = packet->sequence;

	window_start(window, sequence, ns);
	use_names(window, sequence, packet->event, packet->sample,
		  packet->heap);
	if (likely(!packet->is_start && !packet->interned.at &&
		   !packet->descriptor.at && is_in_step(packet, ns, is_step))) {
		cut_file_packet(window->file, packet->bytes.at,
				packet->bytes.count);
		if (is_step)
			sequence->out_ns = ns;
		return;
	}
	put_changed(window, packet, ns, is_step);
}

/* --- open slices and values ---------------------------------------------- */

static bool is_marked(struct wire annotation)
{
	struct wire_field field;

	while (wire_next(&annotation, &field))
		if (field.tag == TAG_DEBUG_ANNOTATION_NAME &&
		    field.value == strlen(CUT_BEGAN_KEY) &&
		    memcmp(field.bytes, CUT_BEGAN_KEY, field.value) == 0)
			return true;
	return false;
}

static void put_mark(struct packet_window *window, const char *key,
		     uint32_t tag, uint64_t number)
{
	struct bytes *out = &window->event;
	size_t count = strlen(key);

	bytes_field(out, TAG_TRACK_EVENT_DEBUG_ANNOTATIONS,
		    bytes_field_size(TAG_DEBUG_ANNOTATION_NAME, count) + count +
			    bytes_field_size(tag, number));
	bytes_part(out, TAG_DEBUG_ANNOTATION_NAME, key, count);
	bytes_field(out, tag, number);
}

/* Copies the fields of a BEGIN to window->event, except flows that end there,
 * because their arrows come from outside the cut. Sets *@has_track if the
 * fields have their track. Returns true if they are marked as begun before. */
static bool copy_begin(struct packet_window *window, const struct bytes *begin,
		       bool *has_track)
{
	struct wire fields = { begin->at, begin->at + begin->count };
	struct bytes *out = &window->event;
	struct wire_field field;
	const uint8_t *from = fields.at;
	bool marked = false;

	for (; wire_next(&fields, &field); from = fields.at) {
		if (field.tag == TAG_TRACK_EVENT_DEBUG_ANNOTATIONS)
			marked |= is_marked(wire_of(&field));
		*has_track |= field.tag == TAG_TRACK_EVENT_TRACK_UUID;
		if (field.tag != TAG_TRACK_EVENT_TERMINATING_FLOW_IDS)
			bytes_put(out, from, (size_t)(fields.at - from));
	}
	return marked;
}

void window_begin_again(struct packet_window *window, struct wtrack *track,
			const struct wslice *slice, uint64_t ns)
{
	struct bytes *out = &window->event;
	bool marked = false, has_track = false;

	bytes_clear(out);
	if (slice->fields.count) {
		marked = copy_begin(window, &slice->fields, &has_track);
	} else {
		bytes_field(out, TAG_TRACK_EVENT_TYPE, TYPE_SLICE_BEGIN);
		if (slice->name_iid)
			bytes_field(out, TAG_TRACK_EVENT_NAME_IID,
				    slice->name_iid);
	}
	if (!has_track && slice->sequence->track != track)
		bytes_field(out, TAG_TRACK_EVENT_TRACK_UUID, track->uuid);
	if (!marked && slice->begin_ns < ns)
		put_mark(window, CUT_BEGAN_KEY, TAG_DEBUG_ANNOTATION_INT_VALUE,
			 slice->begin_ns);
	window_use_track(window, track);
	track->has_slices = true;
	if (!track->is_waits) {
		window->totals.slices++;
		window->totals.clipped++;
		window_note_begin(window, ns);
	}
	window_put_event(window, slice->sequence, ns);
}

void window_end_early(struct packet_window *window, struct wtrack *track,
		      const struct wslice *slice, uint64_t ns)
{
	struct bytes *out = &window->event;

	bytes_clear(out);
	bytes_field(out, TAG_TRACK_EVENT_TYPE, TYPE_SLICE_END);
	if (slice->sequence->track != track)
		bytes_field(out, TAG_TRACK_EVENT_TRACK_UUID, track->uuid);
	put_mark(window, CUT_OPEN_KEY, TAG_DEBUG_ANNOTATION_BOOL_VALUE, 1);
	window_put_event(window, slice->sequence, ns);
}

void window_put_last(struct packet_window *window, struct wtrack *track,
		     const struct wlast *last, uint64_t ns)
{
	struct wire fields = { last->fields.at,
			       last->fields.at + last->fields.count };
	struct wire_field field;
	bool has_track = false;

	bytes_clear(&window->event);
	bytes_put(&window->event, last->fields.at, last->fields.count);
	while (wire_next(&fields, &field))
		has_track |= field.tag == TAG_TRACK_EVENT_TRACK_UUID;
	if (!has_track)
		bytes_field(&window->event, TAG_TRACK_EVENT_TRACK_UUID,
			    track->uuid);
	window_use_track(window, track);
	window_put_event(window, last->sequence, ns);
}

/* --- about the trace ----------------------------------------------------- */

static bool is_of_cut(struct wire attribute)
{
	struct wire_field field;

	while (wire_next(&attribute, &field))
		if (field.tag == TAG_TRACE_ATTRIBUTES_ATTRIBUTE_KEY &&
		    field.value >= strlen(CUT_ATTRIBUTE) &&
		    memcmp(field.bytes, CUT_ATTRIBUTE, strlen(CUT_ATTRIBUTE)) ==
			    0)
			return true;
	return false;
}

/* Leaves out the attributes of a cut when it is cut again. */
void window_put_attributes(struct packet_window *window,
			   const struct wpacket *packet)
{
	struct wire fields = packet->attributes;
	struct bytes *out = &window->event;
	struct wire_field field;
	const uint8_t *from = fields.at;

	bytes_clear(out);
	for (; wire_next(&fields, &field); from = fields.at)
		if (field.tag != TAG_TRACE_ATTRIBUTES_ATTRIBUTE ||
		    !is_of_cut(wire_of(&field)))
			bytes_put(out, from, (size_t)(fields.at - from));
	if (!out->count && !out->failed)
		return;
	begin_packet(window, packet->sequence);
	bytes_part(&window->packet, TAG_TRACE_PACKET_TRACE_ATTRIBUTES, out->at,
		   out->count);
	end_packet(window);
}

/* A cut is another trace, but the same one for the same ranges. */
void window_put_uuid(struct packet_window *window, const struct wpacket *packet)
{
	const struct cut_ranges *ranges = window->ranges;
	uint64_t hash = hash_bytes(HASH_START, ranges->at,
				   ranges->count * sizeof(*ranges->at));
	struct wire fields = packet->uuid;
	struct bytes *out = &window->event;
	struct wire_field field;

	bytes_clear(out);
	while (wire_next(&fields, &field))
		if (!field.bytes)
			bytes_field(out, field.tag, field.value ^ hash);
	begin_packet(window, packet->sequence);
	bytes_part(&window->packet, TAG_TRACE_PACKET_TRACE_UUID, out->at,
		   out->count);
	end_packet(window);
}
