/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_reindex - successive packets of one sequence are a block, as in a
 * recording. The index receives blocks in groups of GROUP_BYTES, or of one
 * bundle; no block spans two groups.
 */
#include "collector/cut/trace_reindex.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/base/protobuf.h"
#include "collector/cut/sequence_index.h"
#include "collector/read/sequence_start.h"
#include "collector/read/trace_packets.h"
#include "collector/trace/fields.h"
#include "collector/trace/index_file.h"
#include "collector/trace/trace_index.h"
#include "shared/compiler.h"

#define GROUP_BYTES (128u << 10)
/* An open wait delays the end of a group up to this size: see
 * sequence_index_may_end(). */
#define GROUP_BYTES_MAX (1u << 20)
#define PACKET_HEAD_BYTES 2
/* Limits for all sequences, with about SEQUENCE_BYTES each, and for their trees
 * and stacks. */
#define BUDGET_BYTES (UINT64_C(512) << 20)
#define SEQUENCE_BYTES 1024
#define TREES_BYTES (UINT64_C(512) << 20)
#define NO_BUNDLE UINT64_MAX

struct reindex {
	struct trace_packets *packets;
	const struct trace_index_to *index;
	struct trace_reindex_result *result;
	struct budget budget, trees;
	struct pool ids;
	struct sequence_index **sequences;
	uint32_t sequence_room;
	struct sequence_index *last;
	struct sequence_index *block; /* the current block; NULL: none */
	struct packet_place place;
	uint64_t bundle; /* the group is the one at this offset; or NO_BUNDLE */
	uint64_t group_end; /* offset in the file behind the last packet read */
	uint64_t unpacked, group_start; /* unpacked bytes of packets */
};

/* --- blocks and groups --------------------------------------------------- */

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

/* Passes everything up to the end of the group to the index. Returns 0 or
 * -errno. */
static int end_group(struct reindex *reindex)
{
	uint64_t end = reindex->group_end;
	size_t count = MIN(end, (uint64_t)INDEX_TAIL_BYTES);
	uint8_t tail[INDEX_TAIL_BYTES];
	int err;

	end_block(reindex);
	reindex->bundle = NO_BUNDLE;
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

/* --- sequences ----------------------------------------------------------- */

static struct sequence_index *find_reindexed(struct reindex *reindex,
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

struct start {
	uint64_t id, flags, clock, track;
	uint64_t ns;
	bool snapshot;
};

static bool look_at_start_fields(struct wire fields, struct start *start)
{
	struct sequence_defaults defaults;
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
			start->snapshot |=
				snapshot_time(wire_of(&field), &start->ns);
			break;
		case TAG_TRACE_PACKET_TRACE_PACKET_DEFAULTS:
			defaults = sequence_defaults_of(wire_of(&field));
			if (defaults.has_clock)
				start->clock = defaults.clock;
			if (defaults.has_track)
				start->track = defaults.track;
			break;
		case TAG_TRACE_PACKET_TRACK_EVENT:
			event = true;
			break;
		}
	return event;
}

static int add_reindexed(struct reindex *reindex, const struct start *start)
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

static int look_at_start(struct reindex *reindex, const struct start *start)
{
	if (!(start->flags & SEQUENCE_CLEARED) && !start->snapshot &&
	    !start->track)
		return 0;
	/* The sequence is known, and its names would change their meaning. */
	if (find_reindexed(reindex, start->id))
		return -EPROTO;
	if (!start->snapshot || !start->track || !start->id ||
	    start->id > UINT32_MAX || !is_clock_of_sequence(start->clock))
		return 0;
	return add_reindexed(reindex, start);
}

/* --- packets ------------------------------------------------------------- */

static int reindex_packet(struct reindex *reindex,
			  const struct trace_packet_bytes *bytes,
			  struct packet_place place)
{
	struct wire fields = { bytes->at, bytes->at + bytes->count };
	struct sequence_index *sequence;
	struct start start;
	int err = 0;

	if (look_at_start_fields(fields, &start)) {
		sequence = find_reindexed(reindex, start.id);
		if (sequence) {
			if (sequence != reindex->block) {
				end_block(reindex);
				reindex->block = sequence;
				reindex->place = place;
				sequence_index_begin_block(sequence,
							   reindex->unpacked);
			}
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

/* Begins a group at @place, in another bundle or, after one, in none. Returns 0
 * or -errno. */
static int change_bundle(struct reindex *reindex, struct packet_place place)
{
	int err = reindex->bundle == NO_BUNDLE ? 0 : end_group(reindex);

	if (err || !place.inner)
		return err;
	reindex->group_end = place.offset;
	err = end_group(reindex);
	reindex->bundle = place.offset;
	reindex->group_end = trace_packets_at(reindex->packets);
	return err;
}

static bool is_group_full(const struct reindex *reindex)
{
	uint64_t bytes = reindex->unpacked - reindex->group_start;

	if (likely(bytes < GROUP_BYTES) || reindex->bundle != NO_BUNDLE)
		return false;
	return !reindex->block || bytes >= GROUP_BYTES_MAX ||
	       sequence_index_may_end(reindex->block);
}

static int take_next(struct reindex *reindex,
		     const struct trace_packet_bytes *bytes)
{
	struct wire fields = { bytes->at, bytes->at + bytes->count };
	struct packet_place place = trace_packets_place(reindex->packets);
	uint64_t bundle = place.inner ? place.offset : NO_BUNDLE;
	int err = 0;

	reindex->result->packets++;
	if (unlikely(bundle != reindex->bundle))
		err = change_bundle(reindex, place);
	if (err)
		return err;
	if (unlikely(!reindex->block || reindex->block->given_up ||
		     !sequence_index_usual(reindex->block, fields)))
		err = reindex_packet(reindex, bytes, place);
	reindex->unpacked += bytes->count + PACKET_HEAD_BYTES;
	if (likely(err || !is_group_full(reindex)))
		return err;
	reindex->group_end = trace_packets_at(reindex->packets);
	return end_group(reindex);
}

/* --- the end ------------------------------------------------------------- */

static void finish_sequence(struct reindex *reindex,
			    struct sequence_index *sequence)
{
	const struct packet_place end = { .offset = reindex->group_end };
	const void *items = NULL;
	size_t bytes;

	reindex->result->slices += sequence->spans;
	reindex->result->given_up += sequence->given_up;
	/* Readers know no time either if a thread has only begun. */
	if (sequence->given_up || !sequence->begun)
		return;
	/* Readers extend open slices to the end of the trace. */
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

static int finish_reindex(struct reindex *reindex)
{
	if (reindex->bundle == NO_BUNDLE)
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
	return finish_reindex(reindex);
}

int trace_reindex(const char *path, const struct trace_index_to *index,
		  const struct read_progress *progress,
		  struct trace_reindex_result *result)
{
	struct reindex reindex = { .index = index,
				   .result = result,
				   .bundle = NO_BUNDLE,
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
	for (uint32_t i = 0; i < reindex.ids.count; i++)
		sequence_index_free(&reindex.sequences[i]);
	free(reindex.sequences);
	pool_release(&reindex.ids);
	trace_packets_close(&reindex.packets);
	return err;
}
