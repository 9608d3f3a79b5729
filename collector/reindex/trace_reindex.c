/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_reindex - packets of one sequence that follow one another are a block,
 * as when the trace was written. Groups of blocks, of GROUP_BYTES or of a
 * bundle, are what the index is told at a time; no block is in two of them.
 */
#include "collector/reindex/trace_reindex.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/index/index_file.h"
#include "collector/read/trace_packets.h"
#include "collector/read/trace_wire.h"
#include "collector/reindex/sequence_index.h"
#include "collector/trace/fields.h"
#include "collector/trace/trace_index.h"
#include "shared/compiler.h"

#define GROUP_BYTES (128u << 10)
/* A wait that takes longer is none: see sequence_index_may_end(). */
#define GROUP_BYTES_MAX (1u << 20)
/* What precedes a packet, mostly. */
#define PACKET_HEAD_BYTES 2
/* All sequences, each of which takes SEQUENCE_BYTES about; and their trees and
 * stacks. */
#define BUDGET_BYTES (UINT64_C(512) << 20)
#define SEQUENCE_BYTES 1024
#define TREES_BYTES (UINT64_C(512) << 20)
#define CLOCK_SEQUENCE_FIRST 64
#define CLOCK_SEQUENCE_LAST 127
#define FLAG_CLEARED 1 /* SEQ_INCREMENTAL_STATE_CLEARED */

struct reindex {
	struct trace_packets *packets;
	const struct trace_index_to *index;
	struct trace_reindex_result *result;
	struct budget budget, trees;
	struct pool ids; /* of uint64_t */
	struct sequence_index **sequences; /* by number */
	uint32_t sequence_room;
	struct sequence_index *last; /* that of the packet before */
	/* The block at hand. */
	struct sequence_index *block; /* NULL: none */
	struct packet_place place; /* of its first event */
	bool in_bundle; /* the group is the bundle at bundle_offset */
	uint64_t bundle_offset;
	uint64_t group_end; /* of the packets that were taken in, in the file */
	uint64_t unpacked, group_start; /* bytes of packets, unpacked */
};

/* --- blocks and groups ------------------------------------------------------
 */

/* Gives the index @items of @sequence, at @place. */
static void tell_block(struct reindex *reindex,
		       const struct sequence_index *sequence,
		       struct packet_place at, const void *items, size_t bytes)
{
	const struct index_place place = {
		.sequence = sequence->id,
		.offset = at.offset,
		.inner = at.inner,
		.first_ns = sequence->bad_clock ? 0 : sequence->first_ns,
		.last_ns = sequence->bad_clock ? 0 : sequence->last_ns,
		.untimed = sequence->bad_clock,
	};

	index_file_block(reindex->index->file, &place, items, bytes);
}

static void end_block(struct reindex *reindex)
{
	struct sequence_index *sequence = reindex->block;
	const void *items = NULL;
	size_t bytes;

	if (!sequence)
		return;
	bytes = sequence_index_end_block(sequence, reindex->unpacked, false,
					 &items);
	tell_block(reindex, sequence, reindex->place, items, bytes);
	reindex->block = NULL;
}

static void begin_block(struct reindex *reindex,
			struct sequence_index *sequence,
			struct packet_place place)
{
	end_block(reindex);
	reindex->block = sequence;
	reindex->place = place;
	sequence_index_begin_block(sequence, reindex->unpacked);
}

/* The index is told of all up to the end of the group. 0 or -errno. */
static int end_group(struct reindex *reindex)
{
	uint64_t end = reindex->group_end;
	size_t count = MIN(end, (uint64_t)INDEX_TAIL_BYTES);
	uint8_t tail[INDEX_TAIL_BYTES];
	int err;

	end_block(reindex);
	reindex->in_bundle = false;
	reindex->group_start = reindex->unpacked;
	if (!end)
		return 0;
	err = trace_packets_read_at(reindex->packets, tail, count, end - count);
	if (err)
		return err;
	index_file_passed(reindex->index->file, end, tail, count);
	index_file_advance(reindex->index->file);
	reindex->result->at = end;
	return 0;
}

/* --- sequences --------------------------------------------------------------
 */

/* The sequence @id, if it has calls; or NULL. */
static struct sequence_index *find_sequence(struct reindex *reindex,
					    uint64_t id)
{
	uint32_t number;

	if (likely(reindex->last && reindex->last->id == id))
		return reindex->last;
	if (!pool_find(&reindex->ids, &id, &number))
		return NULL;
	reindex->last = reindex->sequences[number];
	return reindex->last;
}

/* What a packet without an event says of its sequence. */
struct start {
	uint64_t id, flags, clock, track;
	uint64_t ns; /* of the clock */
	bool snapshot;
};

static void take_defaults(struct wire fields, struct start *start)
{
	struct wire_field field;

	while (wire_next(&fields, &field)) {
		struct wire event = wire_of(&field);

		if (field.tag == TAG_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID)
			start->clock = field.value;
		if (field.tag != TAG_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS)
			continue;
		while (wire_next(&event, &field))
			if (field.tag == TAG_TRACK_EVENT_DEFAULTS_TRACK_UUID)
				start->track = field.value;
	}
}

static void take_snapshot(struct wire fields, struct start *start)
{
	struct wire_field field;

	while (wire_next(&fields, &field)) {
		struct wire clock = wire_of(&field);
		uint64_t id = 0, ns = 0;

		if (field.tag != TAG_CLOCK_SNAPSHOT_CLOCKS)
			continue;
		while (wire_next(&clock, &field))
			if (field.tag == TAG_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID)
				id = field.value;
			else if (field.tag ==
				 TAG_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP)
				ns = field.value;
		if (id < CLOCK_SEQUENCE_FIRST || id > CLOCK_SEQUENCE_LAST)
			continue;
		start->ns = ns;
		start->snapshot = true;
	}
}

/* Returns whether there is an event. */
static bool take_fields(struct wire fields, struct start *start)
{
	struct wire_field field;
	bool event = false;

	*start = (struct start){ 0 };
	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
			start->id = field.value;
			break;
		case TAG_TRACE_PACKET_SEQUENCE_FLAGS:
			start->flags = field.value;
			break;
		case TAG_TRACE_PACKET_CLOCK_SNAPSHOT:
			take_snapshot(wire_of(&field), start);
			break;
		case TAG_TRACE_PACKET_TRACE_PACKET_DEFAULTS:
			take_defaults(wire_of(&field), start);
			break;
		case TAG_TRACE_PACKET_TRACK_EVENT:
			event = true;
			break;
		}
	return event;
}

/* A sequence with calls begins. 0 or -ENOMEM. */
static int add_sequence(struct reindex *reindex, const struct start *start)
{
	struct sequence_index *sequence;
	uint32_t number;

	if (!budget_take(&reindex->budget, SEQUENCE_BYTES) ||
	    grow_array(reindex->sequences, reindex->sequence_room,
		       reindex->ids.count + 1) ||
	    sequence_index_new((uint32_t)start->id, start->track, start->ns,
			       &reindex->trees, &sequence) < 0)
		return -ENOMEM;
	if (pool_intern(&reindex->ids, &start->id, &number) < 0) {
		sequence_index_free(&sequence);
		return -ENOMEM;
	}
	reindex->sequences[number] = sequence;
	return 0;
}

/* A packet that may begin a sequence. 0 or -errno. */
static int look_at_start(struct reindex *reindex, const struct start *start)
{
	if (!(start->flags & FLAG_CLEARED) && !start->snapshot && !start->track)
		return 0;
	/* Names would get other meanings. */
	if (find_sequence(reindex, start->id))
		return -EPROTO;
	if (!start->snapshot || !start->track || !start->id ||
	    start->id > UINT32_MAX || start->clock < CLOCK_SEQUENCE_FIRST ||
	    start->clock > CLOCK_SEQUENCE_LAST)
		return 0;
	return add_sequence(reindex, start);
}

/* --- packets ----------------------------------------------------------------
 */

/* Takes in the packet at @bytes, which is at @place. 0 or -errno. */
static int take_packet(struct reindex *reindex,
		       const struct trace_packet_bytes *bytes,
		       struct packet_place place)
{
	struct wire fields = { bytes->at, bytes->at + bytes->count };
	struct sequence_index *sequence;
	struct start start;
	int err = 0;

	if (take_fields(fields, &start)) {
		sequence = find_sequence(reindex, start.id);
		if (sequence) {
			if (sequence != reindex->block)
				begin_block(reindex, sequence, place);
			sequence_index_event(sequence, fields);
			return 0;
		}
	} else {
		err = look_at_start(reindex, &start);
	}
	if (!err)
		trace_index_packet(reindex->index, place.offset, place.inner,
				   bytes->at, bytes->count);
	return err;
}

static bool is_bundle(struct wire fields)
{
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_TRACE_PACKET_COMPRESSED_PACKETS)
			return true;
	return false;
}

/* A packet that is in no bundle: it may be one. Then a group begins with it.
 * Returns 1 if so, 0, or -errno. */
static int look_at_outer(struct reindex *reindex, struct wire fields,
			 struct packet_place place)
{
	int err = reindex->in_bundle ? end_group(reindex) : 0;

	if (err || !is_bundle(fields))
		return err;
	reindex->group_end = place.offset;
	err = end_group(reindex);
	if (err)
		return err;
	trace_packets_open_bundle(reindex->packets, fields);
	reindex->in_bundle = true;
	reindex->group_end = trace_packets_at(reindex->packets);
	return 1;
}

/* Whether the group ends behind the packet that came last. */
static bool is_group_full(const struct reindex *reindex)
{
	uint64_t bytes = reindex->unpacked - reindex->group_start;

	if (likely(bytes < GROUP_BYTES) || reindex->in_bundle)
		return false;
	return !reindex->block || bytes >= GROUP_BYTES_MAX ||
	       sequence_index_may_end(reindex->block);
}

static int take_next(struct reindex *reindex,
		     const struct trace_packet_bytes *bytes)
{
	struct wire fields = { bytes->at, bytes->at + bytes->count };
	struct packet_place place;
	int err = 0;

	reindex->result->packets++;
	if (unlikely(!reindex->block || reindex->block->given_up ||
		     !sequence_index_usual(reindex->block, fields))) {
		place = trace_packets_place(reindex->packets);
		if (!place.inner)
			err = look_at_outer(reindex, fields, place);
		if (err)
			return MIN(err, 0);
		err = take_packet(reindex, bytes, place);
	}
	reindex->unpacked += bytes->count + PACKET_HEAD_BYTES;
	if (likely(err || !is_group_full(reindex)))
		return err;
	reindex->group_end = trace_packets_at(reindex->packets);
	return end_group(reindex);
}

/* --- the end ----------------------------------------------------------------
 */

/* No packets of @sequence follow. */
static void finish_sequence(struct reindex *reindex,
			    struct sequence_index *sequence)
{
	const struct packet_place end = { .offset = reindex->group_end };
	const void *items = NULL;
	size_t bytes;

	reindex->result->slices += sequence->spans;
	reindex->result->given_up += sequence->given_up;
	/* Of a thread that has only begun, readers know no time either. */
	if (sequence->given_up || !sequence->begun)
		return;
	/* What is open goes on to the end of the trace: readers see to that. */
	if (sequence_index_is_open(sequence)) {
		reindex->result->unfinished++;
		bytes = sequence_index_break(sequence, &items);
	} else {
		sequence_index_begin_block(sequence, reindex->unpacked);
		bytes = sequence_index_end_block(sequence, reindex->unpacked,
						 true, &items);
	}
	tell_block(reindex, sequence, end, items, bytes);
}

static int finish(struct reindex *reindex)
{
	if (!reindex->in_bundle)
		reindex->group_end = trace_packets_at(reindex->packets);
	end_block(reindex);
	reindex->result->sequences = reindex->ids.count;
	for (uint32_t i = 0; i < reindex->ids.count; i++)
		finish_sequence(reindex, reindex->sequences[i]);
	return end_group(reindex);
}

static int read_packets(struct reindex *reindex)
{
	struct trace_packet_bytes bytes;
	int got, err = 0;

	while (!err && (got = trace_packets_next(reindex->packets, &bytes)) > 0)
		err = take_next(reindex, &bytes);
	if (err)
		return err;
	if (got && got != -EBADMSG)
		return got;
	reindex->result->read_err = got;
	reindex->result->size = trace_packets_size(reindex->packets);
	return finish(reindex);
}

static void release(struct reindex *reindex)
{
	for (uint32_t i = 0; i < reindex->ids.count; i++)
		sequence_index_free(&reindex->sequences[i]);
	free(reindex->sequences);
	pool_release(&reindex->ids);
	trace_packets_close(&reindex->packets);
}

int trace_reindex(const char *path, const struct trace_index_to *index,
		  const struct read_progress *progress,
		  struct trace_reindex_result *result)
{
	struct reindex reindex = { .index = index,
				   .result = result,
				   .budget.left = BUDGET_BYTES,
				   .trees.left = TREES_BYTES };
	int err = trace_packets_open(path, &reindex.packets);

	if (err)
		return err;
	*result = (struct trace_reindex_result){ 0 };
	pool_init(&reindex.ids, NULL, sizeof(uint64_t), sizeof(uint64_t));
	if (progress)
		trace_packets_set_progress(reindex.packets, progress);
	err = read_packets(&reindex);
	release(&reindex);
	return err;
}
