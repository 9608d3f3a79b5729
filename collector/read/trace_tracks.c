/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_read_inner.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"

/* Limit of a command line. */
#define COMMAND_BYTES 4096

/* The latest process and thread with these ids: ids are reused. */
struct pid_track {
	int64_t pid;
	struct track *track;
};

struct tid_track {
	int64_t pid, tid;
	struct track *track;
};

/* CounterDescriptor.Unit */
enum { UNIT_NONE, UNIT_TIME_NS, UNIT_COUNT, UNIT_SIZE_BYTES };

void read_tracks_init(struct trace_reader *reader)
{
	struct budget *budget = &reader->budget;

	by_id_init(&reader->tracks, budget);
	pool_init(&reader->pids, budget, sizeof(struct pid_track),
		  sizeof(int64_t));
	pool_init(&reader->tids, budget, sizeof(struct tid_track),
		  2 * sizeof(int64_t));
}

void read_tracks_release(struct trace_reader *reader)
{
	for (uint32_t i = 0; i < reader->tracks.ids.count; i++) {
		struct track *track = reader->tracks.items[i];

		free(track->slices);
	}
	by_id_release(&reader->tracks);
	pool_release(&reader->pids);
	pool_release(&reader->tids);
}

struct track *read_tracks_get(struct trace_reader *reader, uint64_t uuid)
{
	struct track *track = reader->last_track;

	if (likely(track && track->shown.uuid == uuid))
		return track;
	track = by_id_find(&reader->tracks, uuid);
	if (!track) {
		track = by_id_add(&reader->tracks, uuid, sizeof(*track));
		if (!track) {
			reader_refuse(reader);
			return NULL;
		}
		track->shown.uuid = uuid;
		track->shown.number = reader->tracks.ids.count - 1;
		track->shown.multiplier = 1;
	}
	reader->last_track = track;
	return track;
}

struct track *read_tracks_thread(const struct trace_reader *reader, int64_t pid,
				 int64_t tid)
{
	const struct tid_track *known = reader->tids.items;
	struct tid_track wanted = { .pid = pid, .tid = tid };
	uint32_t number;

	return pool_find(&reader->tids, &wanted, &number) ? known[number].track
							  : NULL;
}

static struct trace_track *find_process(const struct trace_reader *reader,
					int64_t pid)
{
	const struct pid_track *known = reader->pids.items;
	struct pid_track wanted = { .pid = pid };
	uint32_t number;

	return pool_find(&reader->pids, &wanted, &number)
		       ? &known[number].track->shown
		       : NULL;
}

static void keep_process(struct trace_reader *reader, struct track *track)
{
	struct pid_track item = { track->shown.pid, track };
	uint32_t number;

	if (pool_intern(&reader->pids, &item, &number) < 0)
		reader_refuse(reader);
	else
		((struct pid_track *)reader->pids.items)[number] = item;
}

static void keep_thread(struct trace_reader *reader, struct track *track)
{
	struct tid_track item = { track->shown.pid, track->shown.tid, track };
	uint32_t number;

	if (pool_intern(&reader->tids, &item, &number) < 0)
		reader_refuse(reader);
	else
		((struct tid_track *)reader->tids.items)[number] = item;
}

static uint32_t text_of(struct trace_reader *reader,
			const struct wire_field *field)
{
	return field->bytes ? trace_texts_number(&reader->texts, field->bytes,
						 field->value)
			    : 0;
}

static void add_word(char *command, size_t *bytes,
		     const struct wire_field *field)
{
	size_t count = field->bytes ? field->value : 0;

	if (*bytes && *bytes < COMMAND_BYTES)
		command[(*bytes)++] = ' ';
	count = MIN(count, COMMAND_BYTES - *bytes);
	if (count)
		memcpy(command + *bytes, field->bytes, count);
	*bytes += count;
}

static void describe_process(struct trace_reader *reader, struct track *track,
			     struct wire fields)
{
	char command[COMMAND_BYTES];
	size_t bytes = 0;
	struct wire_field field;

	track->shown.kind = TRACE_TRACK_PROCESS;
	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_PROCESS_DESCRIPTOR_PID:
			track->shown.pid = (int32_t)field.value;
			break;
		case TAG_PROCESS_DESCRIPTOR_PROCESS_NAME:
			track->shown.name = text_of(reader, &field);
			break;
		case TAG_PROCESS_DESCRIPTOR_CMDLINE:
			add_word(command, &bytes, &field);
			break;
		}
	track->shown.command = trace_texts_number(
		&reader->texts, (const uint8_t *)command, bytes);
	track->shown.process = &track->shown;
	keep_process(reader, track);
}

static void describe_thread(struct trace_reader *reader, struct track *track,
			    struct wire fields)
{
	uint32_t known = track->shown.name;
	bool first = track->shown.kind != TRACE_TRACK_THREAD;
	struct wire_field field;

	track->shown.kind = TRACE_TRACK_THREAD;
	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_THREAD_DESCRIPTOR_PID:
			track->shown.pid = (int32_t)field.value;
			break;
		case TAG_THREAD_DESCRIPTOR_TID:
			track->shown.tid = (int64_t)field.value;
			break;
		case TAG_THREAD_DESCRIPTOR_THREAD_NAME:
			track->shown.name = text_of(reader, &field);
			break;
		}
	if (!track->shown.process)
		track->shown.process = find_process(reader, track->shown.pid);
	track->shown.renamed |= !first && track->shown.name != known;
	keep_thread(reader, track);
}

static uint32_t unit_text(struct trace_reader *reader, uint64_t unit)
{
	const char *text = unit == UNIT_TIME_NS	     ? "ns"
			   : unit == UNIT_SIZE_BYTES ? "bytes"
						     : "";

	return trace_texts_number(&reader->texts, (const uint8_t *)text,
				  strlen(text));
}

static void describe_counter(struct trace_reader *reader, struct track *track,
			     struct wire fields)
{
	struct wire_field field;

	track->shown.kind = TRACE_TRACK_COUNTER;
	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_COUNTER_DESCRIPTOR_UNIT:
			if (!track->shown.unit)
				track->shown.unit =
					unit_text(reader, field.value);
			break;
		case TAG_COUNTER_DESCRIPTOR_UNIT_NAME:
			track->shown.unit = text_of(reader, &field);
			break;
		case TAG_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER:
			track->shown.multiplier = (int64_t)field.value;
			break;
		}
}

/* Programs do not use the names of perfrec's own tracks. */
static void describe_other(const struct trace_reader *reader,
			   struct track *track)
{
	const char *name = trace_reader_text(reader, track->shown.name);

	if (track->shown.kind != TRACE_TRACK_OTHER || !track->shown.parent ||
	    !out_perfetto_is_waits(name, strlen(name)))
		return;
	track->shown.kind = TRACE_TRACK_WAITS;
	track->shown.suspends = strcmp(name, OUT_TRACK_SUSPENDED) == 0;
	track->shown.holds = strcmp(name, OUT_TRACK_LOCKS) == 0;
}

void read_tracks_describe(struct trace_reader *reader, struct wire fields)
{
	struct track *track = read_tracks_get(
		reader, wire_find(fields, TAG_TRACK_DESCRIPTOR_UUID));
	struct wire_field field;

	if (!track)
		return;
	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACK_DESCRIPTOR_NAME:
			track->shown.name = text_of(reader, &field);
			break;
		case TAG_TRACK_DESCRIPTOR_PARENT_UUID:
			track->shown.parent = field.value;
			break;
		case TAG_TRACK_DESCRIPTOR_STATE:
			track->shown.shows_states = true;
			break;
		case TAG_TRACK_DESCRIPTOR_PROCESS:
			describe_process(reader, track, wire_of(&field));
			break;
		case TAG_TRACK_DESCRIPTOR_THREAD:
			describe_thread(reader, track, wire_of(&field));
			break;
		case TAG_TRACK_DESCRIPTOR_COUNTER:
			describe_counter(reader, track, wire_of(&field));
			break;
		}
	describe_other(reader, track);
}

static void number_tracks_of(struct trace_reader *reader, struct wire fields)
{
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_TRACE_PACKET_TRACK_DESCRIPTOR)
			read_tracks_get(reader,
					wire_find(wire_of(&field),
						  TAG_TRACK_DESCRIPTOR_UUID));
}

void read_tracks_number(struct trace_reader *reader,
			const struct trace_index *index)
{
	for (uint32_t i = 0; i < index->packet_count; i++) {
		const struct index_packet *item = &index->packets[i];

		if (item->kind == INDEX_PACKET)
			number_tracks_of(
				reader,
				(struct wire){ item->at,
					       item->at + item->count });
	}
}

void read_tracks_are_calls(struct trace_reader *reader, struct track *track)
{
	const struct track *parent =
		by_id_find(&reader->tracks, track->shown.parent);

	if (track->shown.kind != TRACE_TRACK_OTHER || !parent ||
	    parent->shown.kind != TRACE_TRACK_THREAD)
		return;
	track->shown.kind = TRACE_TRACK_CONTEXT;
	track->shown.process = parent->shown.process;
	track->shown.pid = parent->shown.pid;
	track->shown.tid = parent->shown.tid;
}

struct trace_slice *read_tracks_push(struct trace_reader *reader,
				     struct track *track)
{
	if (track->deeper || track->slice_count == SLICES_MAX ||
	    grow_array_from(&reader->budget, track->slices, track->slice_room,
			    track->slice_count + 1)) {
		track->deeper++;
		reader_refuse(reader);
		return NULL;
	}
	return &track->slices[track->slice_count++];
}

struct trace_slice *read_tracks_pop(struct track *track, bool *deeper)
{
	*deeper = track->deeper > 0;
	if (track->deeper)
		track->deeper--;
	else if (track->slice_count)
		return &track->slices[--track->slice_count];
	return NULL;
}
