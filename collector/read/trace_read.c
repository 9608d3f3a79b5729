/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/trace_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/read/sequence_start.h"
#include "collector/read/trace_parts.h"
#include "collector/read/trace_read_inner.h"
#include "collector/read/usual_packet.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* Limit of names, tracks and slices, without texts: text_store has its own
 * limit. */
#define BUDGET_BYTES (UINT64_C(512) << 20)

#define MODE_KERNEL 1 /* Profiling.CpuMode */

/* --- opening and closing --- */

/* Like trace_reader_open(); @parts may be NULL. */
static int open_reader(const char *path, struct trace_parts *parts,
		       struct trace_reader **out)
{
	struct trace_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader) {
		trace_parts_close(&parts);
		return -ENOMEM;
	}
	reader->budget.left = BUDGET_BYTES;
	by_id_init(&reader->sequences, &reader->budget);
	read_tracks_init(reader);
	interned_init(reader);
	err = trace_texts_init(&reader->texts, &reader->budget);
	reader->parts = parts;
	if (parts)
		reader->packets = trace_parts_packets(parts);
	else if (!err)
		err = trace_packets_open(path, &reader->packets);
	if (err) {
		trace_reader_close(&reader);
		return err;
	}
	*out = reader;
	return 0;
}

int trace_reader_open(const char *path, struct trace_reader **out)
{
	return open_reader(path, NULL, out);
}

void trace_reader_close(struct trace_reader **reader)
{
	struct trace_reader *self = *reader;

	if (!self)
		return;
	for (uint32_t i = 0; i < self->sequences.ids.count; i++)
		interned_clear(self, self->sequences.items[i]);
	by_id_release(&self->sequences);
	read_tracks_release(self);
	interned_release(self);
	free(self->attributes);
	trace_texts_release(&self->texts);
	if (self->parts)
		trace_parts_close(&self->parts);
	else
		trace_packets_close(&self->packets);
	free(self);
	*reader = NULL;
}

void trace_reader_set_progress(struct trace_reader *reader,
			       const struct read_progress *progress)
{
	trace_packets_set_progress(reader->packets, progress);
}

/* --- sequences --- */

void reader_refuse(struct trace_reader *reader)
{
	reader->totals.refused++;
}

/* Returns the sequence @id, and adds it if necessary. Returns NULL without
 * room. */
static struct sequence *get_sequence(struct trace_reader *reader, uint64_t id)
{
	struct sequence *sequence = reader->last_sequence;

	if (likely(sequence && sequence->id == id))
		return sequence;
	sequence = by_id_find(&reader->sequences, id);
	if (!sequence) {
		sequence = by_id_add(&reader->sequences, id, sizeof(*sequence));
		if (!sequence) {
			reader_refuse(reader);
			return NULL;
		}
		sequence->id = id;
		sequence->clock_id = CLOCK_BOOTTIME_ID;
	}
	reader->last_sequence = sequence;
	return sequence;
}

/* --- packets without events --- */

static void take_defaults(struct trace_reader *reader,
			  struct sequence *sequence, struct wire fields)
{
	struct sequence_defaults defaults = sequence_defaults_of(fields);

	if (defaults.has_clock)
		sequence->clock_id = defaults.clock;
	if (!defaults.has_track)
		return;
	sequence->track = read_tracks_get(reader, defaults.track);
	if (sequence->track)
		read_tracks_are_calls(reader, sequence->track);
}

static void take_stats(struct trace_reader *reader, struct wire fields)
{
	struct wire_field field;

	reader->totals.lost = 0;
	while (wire_next(&fields, &field)) {
		struct wire buffer = wire_of(&field);

		if (field.tag != TAG_TRACE_STATS_BUFFER_STATS)
			continue;
		while (wire_next(&buffer, &field))
			if (field.tag ==
			    TAG_TRACE_STATS_BUFFER_STATS_TRACE_WRITER_PACKET_LOSS)
				reader->totals.lost += field.value;
	}
}

static void take_attribute(struct trace_reader *reader, struct wire fields)
{
	struct attribute item = { 0 };
	struct wire_field field;

	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACE_ATTRIBUTES_ATTRIBUTE_KEY:
			item.key = trace_texts_number(&reader->texts,
						      field.bytes, field.value);
			break;
		case TAG_TRACE_ATTRIBUTES_ATTRIBUTE_STRING_VALUE:
			item.text = trace_texts_number(
				&reader->texts, field.bytes, field.value);
			break;
		case TAG_TRACE_ATTRIBUTES_ATTRIBUTE_LONG_VALUE:
			item.number = (int64_t)field.value;
			break;
		}
	if (grow_array_from(&reader->budget, reader->attributes,
			    reader->attribute_room,
			    reader->attribute_count + 1))
		reader_refuse(reader);
	else
		reader->attributes[reader->attribute_count++] = item;
}

static void take_attributes(struct trace_reader *reader, struct wire fields)
{
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_TRACE_ATTRIBUTES_ATTRIBUTE)
			take_attribute(reader, wire_of(&field));
}

/* --- events --- */

struct packet {
	struct sequence *sequence; /* NULL: no room */
	uint64_t stamp, clock_id;
	bool has_stamp, has_clock;
	struct wire event, sample; /* .at NULL: none */
};

static bool packet_time(const struct packet *packet, uint64_t *ns)
{
	struct sequence *sequence = packet->sequence;
	uint64_t clock =
		packet->has_clock ? packet->clock_id : sequence->clock_id;

	if (!packet->has_stamp)
		return false;
	*ns = packet->stamp;
	if (is_clock_of_sequence(clock))
		*ns = sequence->clock_ns += packet->stamp;
	return is_clock_of_sequence(clock) || clock == CLOCK_BOOTTIME_ID;
}

static void note_time(struct trace_reader *reader, struct trace_event *event)
{
	struct trace_read_totals *totals = &reader->totals;
	struct trace_track *track = event->track;

	/* A thread may wait before its first call, and after its last one. */
	if (track && unlikely(track->kind == TRACE_TRACK_WAITS))
		return;
	if (unlikely(!totals->first_ns || event->ns < totals->first_ns))
		totals->first_ns = event->ns;
	totals->last_ns = MAX(totals->last_ns, event->ns);
	if (!track)
		return;
	if (unlikely(!track->first_ns))
		track->first_ns = event->ns;
	track->last_ns = MAX(track->last_ns, event->ns);
}

/* Parses an argument of @out. Readers need only ENCODE_WAITED: the end of a
 * call has it if the program waited for the collector in the call. */
static void take_waited(struct wire fields, struct trace_event *out)
{
	static const char waited[] = ENCODE_WAITED;
	struct wire_field field;
	uint64_t number = 0;
	bool is_waited = false;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_DEBUG_ANNOTATION_INT_VALUE)
			number = field.value;
		else if (field.tag == TAG_DEBUG_ANNOTATION_NAME)
			is_waited = field.value == sizeof(waited) - 1 &&
				    !memcmp(field.bytes, waited, field.value);
	if (is_waited)
		out->waited_ns = number;
}

static void take_fields(struct trace_reader *reader, struct sequence *sequence,
			struct wire fields, struct trace_event *out)
{
	struct wire_field field;
	struct track *track = sequence->track;
	uint64_t site = 0; /* number of the site in its category and location */
	uint64_t named = 0;

	out->fields = fields;
	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACK_EVENT_TYPE:
			out->kind =
				(enum trace_event_kind)MIN(field.value, 0xff);
			break;
		case TAG_TRACK_EVENT_NAME_IID:
			out->name = trace_iids_get(&sequence->iids[IID_NAME],
						   field.value);
			named = field.value;
			break;
		case TAG_TRACK_EVENT_NAME:
			out->name = trace_texts_number(
				&reader->texts, field.bytes, field.value);
			break;
		case TAG_TRACK_EVENT_CATEGORY_IIDS:
			out->category = trace_iids_get(
				&sequence->iids[IID_CATEGORY], field.value);
			site = field.value;
			break;
		case TAG_TRACK_EVENT_SOURCE_LOCATION_IID:
			out->location = trace_iids_get(
				&sequence->iids[IID_LOCATION], field.value);
			site = field.value;
			break;
		case TAG_TRACK_EVENT_TRACK_UUID:
			track = read_tracks_get(reader, field.value);
			break;
		case TAG_TRACK_EVENT_COUNTER_VALUE:
			out->value = (int64_t)field.value;
			break;
		case TAG_TRACK_EVENT_DOUBLE_COUNTER_VALUE:
			memcpy(&out->real, &field.value, sizeof(out->real));
			out->is_double = true;
			break;
		case TAG_TRACK_EVENT_DEBUG_ANNOTATIONS:
			if (out->kind == TRACE_END)
				take_waited(wire_of(&field), out);
			break;
		case TAG_TRACK_EVENT_CORRELATION_ID:
			out->correlation = field.value;
			break;
		}
	if (site && site != named)
		out->site = trace_iids_get(&sequence->iids[IID_NAME], site);
	out->track = track ? &track->shown : NULL;
	out->argument_names = &sequence->iids[IID_ARGUMENT];
}

static bool begin_slice(struct trace_reader *reader, struct trace_event *event)
{
	struct track *track = (struct track *)event->track;
	struct trace_slice *slice = read_tracks_push(reader, track);

	if (!slice)
		return false;
	*slice = (struct trace_slice){ .begin_ns = event->ns,
				       .name = event->name,
				       .category = event->category,
				       .location = event->location };
	event->slice = slice;
	event->depth = track->slice_count - 1;
	reader->totals.begins += track->shown.kind != TRACE_TRACK_WAITS;
	return true;
}

/* Returns true if slices of @track may have begun before the first packet that
 * is read. */
static bool is_partly_given(const struct trace_reader *reader,
			    const struct trace_track *track)
{
	return reader->parts && track->kind != TRACE_TRACK_THREAD &&
	       track->kind != TRACE_TRACK_CONTEXT;
}

static bool end_slice(struct trace_reader *reader, struct trace_event *event)
{
	struct track *track = (struct track *)event->track;
	struct trace_slice *slice;
	bool deeper;

	slice = read_tracks_pop(track, &deeper);
	if (!slice) {
		reader->totals.bad_events +=
			!deeper && !is_partly_given(reader, event->track);
		return false;
	}
	event->ns = MAX(event->ns, slice->begin_ns);
	event->slice = slice;
	event->depth = track->slice_count;
	event->name = slice->name;
	event->category = slice->category;
	event->location = slice->location;
	if (track->slice_count)
		slice[-1].callee_ns += event->ns - slice->begin_ns;
	reader->totals.ends += track->shown.kind != TRACE_TRACK_WAITS;
	return true;
}

static int64_t scale_whole(int64_t by, int64_t value)
{
	int64_t scaled;

	if (!__builtin_mul_overflow(value, by, &scaled))
		return scaled;
	return (value < 0) == (by < 0) ? INT64_MAX : INT64_MIN;
}

uint64_t trace_scale_counter(const struct trace_track *track, bool is_double,
			     uint64_t bits)
{
	int64_t by = track->multiplier;
	double real;

	if (!is_double)
		return (uint64_t)scale_whole(by, (int64_t)bits);
	memcpy(&real, &bits, sizeof(real));
	real *= (double)by;
	memcpy(&bits, &real, sizeof(bits));
	return bits;
}

static void scale_counter(struct trace_event *event)
{
	int64_t by = event->track->multiplier;

	if (event->is_double)
		event->real *= (double)by;
	else
		event->value = scale_whole(by, event->value);
}

/* Makes @out from the track event of @packet. Returns false if there is nothing
 * to return. */
static bool take_event(struct trace_reader *reader, const struct packet *packet,
		       struct trace_event *out)
{
	*out = (struct trace_event){ 0 };
	take_fields(reader, packet->sequence, packet->event, out);
	if (!packet_time(packet, &out->ns) || !out->track ||
	    out->kind < TRACE_BEGIN || out->kind > TRACE_STATE) {
		reader->totals.bad_events++;
		return false;
	}
	note_time(reader, out);
	if (out->kind == TRACE_BEGIN)
		return begin_slice(reader, out);
	if (out->kind == TRACE_END)
		return end_slice(reader, out);
	if (out->kind == TRACE_COUNTER)
		scale_counter(out);
	return true;
}

static bool take_sample(struct trace_reader *reader,
			const struct packet *packet, struct trace_event *out)
{
	struct sequence *sequence = packet->sequence;
	struct wire fields = packet->sample;
	struct wire_field field;
	int64_t pid = 0, tid = 0;
	struct track *track;

	*out = (struct trace_event){ .kind = TRACE_SAMPLE };
	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_PERF_SAMPLE_PID:
			pid = (int64_t)field.value;
			break;
		case TAG_PERF_SAMPLE_TID:
			tid = (int64_t)field.value;
			break;
		case TAG_PERF_SAMPLE_CALLSTACK_IID:
			out->stack = trace_iids_get(&sequence->iids[IID_STACK],
						    field.value);
			break;
		case TAG_PERF_SAMPLE_CPU_MODE:
			out->in_kernel = field.value == MODE_KERNEL;
			break;
		}
	if (!packet_time(packet, &out->ns)) {
		reader->totals.bad_events++;
		return false;
	}
	track = read_tracks_thread(reader, pid, tid);
	out->track = track ? &track->shown : NULL;
	note_time(reader, out);
	return true;
}

/* --- packets --- */

/* Processes a field that matters for the event of its packet. */
static void take_state(struct trace_reader *reader, struct sequence *sequence,
		       const struct wire_field *field)
{
	switch (field->tag) {
	case TAG_TRACE_PACKET_SEQUENCE_FLAGS:
		if (field->value & SEQUENCE_CLEARED)
			interned_clear(reader, sequence);
		break;
	case TAG_TRACE_PACKET_CLOCK_SNAPSHOT:
		snapshot_time(wire_of(field), &sequence->clock_ns);
		break;
	case TAG_TRACE_PACKET_TRACE_PACKET_DEFAULTS:
		take_defaults(reader, sequence, wire_of(field));
		break;
	case TAG_TRACE_PACKET_INTERNED_DATA:
		interned_take(reader, sequence, wire_of(field));
		break;
	case TAG_TRACE_PACKET_TRACK_DESCRIPTOR:
		read_tracks_describe(reader, wire_of(field));
		break;
	case TAG_TRACE_PACKET_TRACE_STATS:
		take_stats(reader, wire_of(field));
		break;
	case TAG_TRACE_PACKET_TRACE_ATTRIBUTES:
		take_attributes(reader, wire_of(field));
		break;
	case TAG_TRACE_PACKET_COMPRESSED_PACKETS:
		/* trace_packets_next() opens no bundle of a sequence. */
		reader->totals.bad_bundles++;
		break;
	}
}

static bool take_packet(struct trace_reader *reader,
			const struct trace_packet_bytes *bytes,
			struct trace_event *out)
{
	struct wire fields = { bytes->at, bytes->at + bytes->count };
	struct packet packet = { .sequence = get_sequence(
					 reader, packet_sequence_id(fields)) };
	struct wire_field field;

	if (!packet.sequence)
		return false;
	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACE_PACKET_TIMESTAMP:
			packet.stamp = field.value;
			packet.has_stamp = true;
			break;
		case TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
			packet.clock_id = field.value;
			packet.has_clock = true;
			break;
		case TAG_TRACE_PACKET_TRACK_EVENT:
			packet.event = wire_of(&field);
			break;
		case TAG_TRACE_PACKET_PERF_SAMPLE:
			packet.sample = wire_of(&field);
			break;
		case TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
			break;
		default:
			take_state(reader, packet.sequence, &field);
		}
	if (packet.event.at)
		return take_event(reader, &packet, out);
	if (packet.sample.at)
		return take_sample(reader, &packet, out);
	return false;
}

/* Fast path for most packets of a trace: begin and end events. Returns false
 * for other packets, without processing them. */
static bool take_usual(struct trace_reader *reader,
		       const struct trace_packet_bytes *bytes,
		       struct trace_event *out)
{
	struct wire fields = { bytes->at, bytes->at + bytes->count };
	struct sequence *sequence = reader->last_sequence;
	struct usual_packet usual;

	if (!sequence || !sequence->track ||
	    !is_clock_of_sequence(sequence->clock_id) ||
	    !usual_packet_take(fields, sequence->id, &usual))
		return false;
	*out = (struct trace_event){
		.kind = (enum trace_event_kind)usual.type,
		.ns = sequence->clock_ns += usual.step,
		.track = &sequence->track->shown,
		.name = trace_iids_get(&sequence->iids[IID_NAME],
				       usual.name_iid),
	};
	note_time(reader, out);
	return true;
}

/* --- parts --- */

static void take_copies(struct trace_reader *reader,
			const struct trace_index *index)
{
	for (uint32_t i = 0; i < index->packet_count; i++) {
		const struct index_packet *item = &index->packets[i];
		const struct trace_packet_bytes bytes = { item->at,
							  item->count };
		struct sequence *sequence;
		struct trace_event event;

		if (item->kind == INDEX_PACKET)
			take_packet(reader, &bytes, &event);
		if (item->kind != INDEX_INTERNED)
			continue;
		sequence = get_sequence(reader, item->sequence);
		if (sequence)
			interned_take(reader, sequence,
				      (struct wire){ item->at,
						     item->at + item->count });
	}
}

/* Takes the names of all sequences. @numbers has zeros for the texts of
 * @index. */
static void take_names(struct trace_reader *reader,
		       const struct trace_index *index, uint32_t *numbers)
{
	for (uint32_t i = 0; i < index->sequence_count; i++) {
		const struct index_sequence *from = &index->sequences[i];
		struct sequence *sequence = get_sequence(reader, from->id);

		for (uint32_t j = 0; j < from->name_count && sequence; j++) {
			uint32_t at = from->names[j].text - 1;
			const struct index_text *text = &index->texts[at];

			if (!numbers[at])
				numbers[at] = trace_texts_number(
					&reader->texts, text->at, text->count);
			if (trace_iids_set(&sequence->iids[IID_NAME],
					   &reader->budget, from->names[j].iid,
					   numbers[at]) < 0)
				reader_refuse(reader);
		}
	}
}

int trace_reader_open_parts(const char *path, const struct trace_index *index,
			    const struct parts_choice *choice,
			    struct trace_reader **out)
{
	struct trace_parts *parts;
	uint32_t *numbers = NULL;
	int err;

	if (!index)
		return trace_reader_open(path, out);
	err = trace_parts_open(path, index, choice, &parts);
	if (err)
		return err;
	if (!trace_parts_index(parts)) {
		trace_parts_close(&parts);
		return trace_reader_open(path, out);
	}
	if (choice->calls_only) {
		numbers =
			calloc((size_t)index->text_count + 1, sizeof(*numbers));
		if (!numbers) {
			trace_parts_close(&parts);
			return -ENOMEM;
		}
	}
	err = open_reader(NULL, parts, out);
	if (!err && numbers) {
		take_copies(*out, index);
		take_names(*out, index, numbers);
	} else if (!err) {
		read_tracks_number(*out, index);
	}
	free(numbers);
	return err;
}

/* Ends the innermost slice of the next track with open slices. */
static bool end_open_slice(struct trace_reader *reader, struct trace_event *out)
{
	for (; reader->end_track < reader->tracks.ids.count;
	     reader->end_track++) {
		struct track *track = reader->tracks.items[reader->end_track];

		track->deeper = 0;
		if (!track->slice_count)
			continue;
		*out = (struct trace_event){
			.kind = TRACE_END,
			.ns = reader->totals.last_ns,
			.track = &track->shown,
			.unfinished = true,
		};
		reader->totals.unfinished++;
		return end_slice(reader, out);
	}
	return false;
}

/* Ends the next slice of reader->leaving that is no longer open. */
static bool leave_slice(struct trace_reader *reader, struct trace_event *out)
{
	struct track *track = reader->leaving;

	*out = (struct trace_event){ .kind = TRACE_END,
				     .ns = reader->left_ns,
				     .track = &track->shown,
				     .unfinished = true,
				     .left = true };
	if (track->slice_count > reader->staying && end_slice(reader, out))
		return true;
	reader->leaving = NULL;
	return false;
}

/* Ends all slices of @track except the outermost @staying. Returns true if
 * there are any. */
static bool leave_slices(struct trace_reader *reader, struct track *track,
			 uint64_t staying)
{
	if (!track)
		return false;
	track->deeper =
		MIN(track->deeper, staying - MIN(staying, track->slice_count));
	if (track->slice_count <= staying)
		return false;
	reader->leaving = track;
	reader->staying = staying;
	return true;
}

/* Handles a PART_RESTART. Returns true if slices must end first. */
static bool restart(struct trace_reader *reader, const struct trace_part *part)
{
	struct sequence *sequence = get_sequence(reader, part->sequence);

	reader->seeds = 0;
	reader->left_ns = part->left_ns;
	if (!sequence)
		return false;
	sequence->clock_ns = part->ns;
	reader->restarted = sequence->track;
	if (!sequence->track || !part->anew)
		return false;
	sequence->track->shown.from_ns = part->ns;
	return leave_slices(reader, sequence->track, 0);
}

/* Compares @part, behind a PART_RESTART, with the slices that were open before.
 * Returns true if slices must end first. Otherwise sets *@known if @part begins
 * a slice that is still open. */
static bool compare_seed(struct trace_reader *reader,
			 const struct trace_part *part, bool *known)
{
	struct track *track = reader->restarted;

	if (!part->seed) {
		reader->restarted = NULL;
		return leave_slices(reader, track, reader->seeds);
	}
	*known = reader->seeds < track->slice_count &&
		 track->slices[reader->seeds].begin_ns == part->ns;
	if (!*known && leave_slices(reader, track, reader->seeds))
		return true;
	if (*known)
		track->slices[reader->seeds].callee_ns += part->callee_ns;
	reader->seeds++;
	return false;
}

/* Returns 1 with the next packet; 2: slices must end first; 0 or -errno. */
static int next_of_parts(struct trace_reader *reader,
			 struct trace_packet_bytes *out)
{
	struct trace_part *part = &reader->part;
	bool leaves = false;
	int got = 1;

	while (!leaves) {
		bool known = false;

		if (!reader->has_part)
			got = trace_parts_next(reader->parts, part);
		if (got <= 0)
			break;
		reader->has_part =
			reader->restarted && compare_seed(reader, part, &known);
		if (reader->has_part)
			return 2;
		if (part->kind == PART_PACKET && !known) {
			*out = part->bytes;
			return 1;
		}
		if (part->kind == PART_RESTART)
			leaves = restart(reader, part);
		if (part->kind != PART_TRACK)
			continue;
		reader->left_ns = part->ns;
		leaves = leave_slices(reader,
				      read_tracks_get(reader, part->uuid),
				      part->count);
	}
	if (!got && reader->restarted) {
		leaves = leave_slices(reader, reader->restarted, reader->seeds);
		reader->restarted = NULL;
	}
	if (leaves)
		return 2;
	reader->totals.last_ns =
		MAX(reader->totals.last_ns, trace_parts_last_ns(reader->parts));
	return got;
}

int trace_reader_next(struct trace_reader *reader, struct trace_event *out)
{
	struct trace_packet_bytes bytes;

	while (!reader->ending) {
		int got;

		if (unlikely(reader->leaving) && leave_slice(reader, out))
			return 1;
		got = likely(!reader->parts)
			      ? trace_packets_next(reader->packets, &bytes)
			      : next_of_parts(reader, &bytes);
		if (unlikely(got == 2))
			continue;
		if (unlikely(got <= 0)) {
			reader->ending = true;
			reader->err = got;
			break;
		}
		reader->totals.packets++;
		if (likely(take_usual(reader, &bytes, out))) {
			if (out->kind == TRACE_BEGIN ? begin_slice(reader, out)
						     : end_slice(reader, out))
				return 1;
		} else if (take_packet(reader, &bytes, out)) {
			out->seed = reader->part.seed;
			return 1;
		}
	}
	return end_open_slice(reader, out) ? 1 : reader->err;
}

/* --- queries --- */

struct trace_read_totals trace_reader_totals(const struct trace_reader *reader)
{
	struct trace_read_totals totals = reader->totals;

	totals.size = trace_packets_size(reader->packets);
	totals.at = trace_packets_at(reader->packets);
	totals.bad_bundles += trace_packets_bad_bundles(reader->packets);
	totals.cut = reader->ending ? trace_packets_left(reader->packets) : 0;
	totals.refused += reader->texts.refused;
	return totals;
}

const char *trace_reader_text(const struct trace_reader *reader,
			      uint32_t number)
{
	return trace_texts_get(&reader->texts, number);
}

uint32_t trace_reader_texts(const struct trace_reader *reader)
{
	return reader->texts.pool.count;
}

struct trace_track *trace_reader_track(const struct trace_reader *reader,
				       uint32_t number)
{
	return number < reader->tracks.ids.count ? reader->tracks.items[number]
						 : NULL;
}

struct trace_track *trace_reader_find_track(const struct trace_reader *reader,
					    uint64_t uuid)
{
	return by_id_find(&reader->tracks, uuid);
}

bool trace_reader_skipped(struct trace_reader *reader, uint32_t number,
			  struct skipped_chunks *out)
{
	const struct sequence *sequence;

	if (!reader->parts || !trace_parts_skipped(reader->parts, number,
						   &out->first, &out->last))
		return false;
	out->sequence = &trace_parts_index(reader->parts)->sequences[number];
	sequence = get_sequence(reader, out->sequence->id);
	if (!sequence || !sequence->track)
		return false;
	out->track = &sequence->track->shown;
	return true;
}

uint32_t trace_reader_name(struct trace_reader *reader, uint32_t id,
			   uint32_t iid)
{
	static const char wait[] = INDEX_WAIT_NAME;
	const struct sequence *sequence = get_sequence(reader, id);

	if (!iid)
		return trace_texts_number(&reader->texts, (const uint8_t *)wait,
					  sizeof(wait) - 1);
	return sequence ? trace_iids_get(&sequence->iids[IID_NAME], iid) : 0;
}

bool trace_reader_is_site(struct trace_reader *reader, uint32_t id,
			  uint32_t iid)
{
	const struct sequence *sequence = get_sequence(reader, id);

	return sequence &&
	       (trace_iids_get(&sequence->iids[IID_CATEGORY], iid) ||
		trace_iids_get(&sequence->iids[IID_LOCATION], iid));
}

bool trace_reader_attribute(const struct trace_reader *reader, uint32_t index,
			    const char **key, const char **text,
			    int64_t *number)
{
	const struct attribute *item;

	if (index >= reader->attribute_count)
		return false;
	item = &reader->attributes[index];
	*key = trace_reader_text(reader, item->key);
	*text = item->text ? trace_reader_text(reader, item->text) : NULL;
	*number = item->number;
	return true;
}

uint64_t trace_reader_min_duration(const struct trace_reader *reader)
{
	const char *key, *text;
	int64_t number;

	for (uint32_t i = 0;
	     trace_reader_attribute(reader, i, &key, &text, &number); i++)
		if (!text && number > 0 &&
		    !strcmp(key, "perfrec.min_duration_ns"))
			return (uint64_t)number;
	return 0;
}

/* --- arguments --- */

static void take_argument(const struct trace_reader *reader,
			  const struct trace_event *event, struct wire fields,
			  struct trace_argument *out)
{
	struct wire_field field;

	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_DEBUG_ANNOTATION_NAME_IID:
			out->name = trace_reader_text(
				reader, trace_iids_get(event->argument_names,
						       field.value));
			out->name_bytes = strlen(out->name);
			break;
		case TAG_DEBUG_ANNOTATION_NAME:
			out->name = (const char *)field.bytes;
			out->name_bytes = field.value;
			break;
		case TAG_DEBUG_ANNOTATION_BOOL_VALUE:
			out->kind = TRACE_ARGUMENT_BOOL;
			out->number = field.value != 0;
			break;
		case TAG_DEBUG_ANNOTATION_UINT_VALUE:
			out->kind = TRACE_ARGUMENT_UINT;
			out->number = field.value;
			break;
		case TAG_DEBUG_ANNOTATION_INT_VALUE:
			out->kind = TRACE_ARGUMENT_INT;
			out->number = field.value;
			break;
		case TAG_DEBUG_ANNOTATION_POINTER_VALUE:
			out->kind = TRACE_ARGUMENT_POINTER;
			out->number = field.value;
			break;
		case TAG_DEBUG_ANNOTATION_DOUBLE_VALUE:
			out->kind = TRACE_ARGUMENT_DOUBLE;
			memcpy(&out->real, &field.value, sizeof(out->real));
			break;
		case TAG_DEBUG_ANNOTATION_STRING_VALUE:
			out->kind = TRACE_ARGUMENT_TEXT;
			out->text = (const char *)field.bytes;
			out->text_bytes = field.value;
			break;
		}
}

bool trace_argument_next(const struct trace_reader *reader,
			 struct trace_event *event, struct trace_argument *out)
{
	struct wire_field field;

	while (wire_next(&event->fields, &field)) {
		if (field.tag != TAG_TRACK_EVENT_DEBUG_ANNOTATIONS)
			continue;
		*out = (struct trace_argument){ .name = "", .text = "" };
		take_argument(reader, event, wire_of(&field), out);
		return true;
	}
	return false;
}

bool trace_flow_next(struct wire *fields, uint64_t *id, bool *ends)
{
	struct wire_field field;

	while (wire_next(fields, &field)) {
		*ends = field.tag == TAG_TRACK_EVENT_TERMINATING_FLOW_IDS;
		if (!*ends && field.tag != TAG_TRACK_EVENT_FLOW_IDS)
			continue;
		*id = field.value;
		return true;
	}
	return false;
}
