/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_parts - an extent is read as a whole or not at all. In an extent that
 * is read, events of threads outside the ranges are skipped, because the clocks
 * of their sequences are unknown there.
 *
 * A thread is followed from its last checkpoint before a range up to its first
 * checkpoint at or behind the end. The index has the earlier values of its
 * counters and states (INDEX_VALUE). Events with an absolute time are always
 * returned.
 */
#include "collector/read/trace_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/read/index_interned.h"
#include "collector/read/sequence_start.h"
#include "collector/read/trace_begin.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* A run of packets of a thread's sequence to return. */
struct follow {
	struct packet_place from, to; /* @to is exclusive */
	uint64_t to_ns; /* of the last event before @to, if that is a place */
	uint32_t checkpoint; /* at from, if seeded */
	bool seeded; /* the open slices must be returned first */
};

/* The plan and the state of a sequence. */
struct wanted {
	const struct index_sequence *of; /* without checkpoints: return all */
	struct follow *follows;
	uint32_t count, room;
	uint32_t planned; /* follows before it end before the current extent */
	uint32_t at; /* the current or the next follow */
	bool following;
	bool named; /* its names were returned */
	bool closed; /* the end of all open slices behind the last follow was
		      * returned */
	/* Skipped chunks, an exclusive range; equal: none. */
	uint32_t skip_from, skip_to;
};

struct seeding {
	struct wanted *of; /* NULL: none */
	uint64_t ns; /* of the last event before */
	uint64_t left_ns; /* see struct trace_part */
	bool restarted;
	struct index_stack stack;
	uint64_t *callee_ns; /* by slice: see struct trace_part; NULL: 0 */
	uint32_t slice; /* the next one */
};

struct trace_parts {
	char *path;
	const struct trace_index *index; /* NULL: read everything */
	struct parts_choice choice;
	struct trace_packets *packets;
	struct wanted *wanted; /* by place in index->sequences */
	uint64_t last_ns;
	struct index_interned interned; /* if it was needed */
	bool has_interned;

	uint32_t extent; /* the next one */
	struct file_stretch stretch;
	bool reading, at_tail, ended;
	int err; /* of reading the index */
	uint32_t item, item_end; /* of the current extent */
	struct index_get track, switches; /* the rest of an item */
	uint64_t switch_ns;
	uint32_t switch_sequence;
	struct seeding seeding;
	uint32_t last; /* the sequence of the latest lookup */
	struct trace_packet_bytes held; /* a packet that waits; .at NULL:
					 * none */
	struct bytes made, inner, found; /* buffers of synthesized packets */
	struct index_buffer rows; /* of a skipped chunk */
};

/* --- ranges -------------------------------------------------------------- */

/* Returns true if a range overlaps the times. @last_ns 0: no times. */
static bool overlaps(const struct trace_parts *parts, uint64_t first_ns,
		     uint64_t last_ns)
{
	uint32_t at = search_first(i, parts->choice.range_count,
				   parts->choice.ranges[i].to_ns > first_ns);

	return last_ns && at < parts->choice.range_count &&
	       parts->choice.ranges[at].from_ns <= last_ns;
}

/* --- packets -------------------------------------------------------------- */

struct look {
	uint64_t clock;
	bool event;
	bool begin; /* of a slice */
	bool own; /* on the track of its sequence */
	struct wire interned;
};

static void look_at_event(struct look *look, struct wire event)
{
	struct wire_field field;

	look->event = look->own = true;
	while (wire_next(&event, &field))
		if (field.tag == TAG_TRACK_EVENT_TYPE)
			look->begin = field.value == TYPE_SLICE_BEGIN;
		else if (field.tag == TAG_TRACK_EVENT_TRACK_UUID)
			look->own = false;
}

static struct look look_at(struct trace_packet_bytes bytes)
{
	struct wire fields = { bytes.at, bytes.at + bytes.count };
	struct look look = { 0 };
	struct wire_field field;

	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
			look.clock = field.value;
			break;
		case TAG_TRACE_PACKET_TRACK_EVENT:
			look_at_event(&look, wire_of(&field));
			break;
		case TAG_TRACE_PACKET_INTERNED_DATA:
			look.interned = wire_of(&field);
			break;
		}
	return look;
}

/* --- the plan of a thread ------------------------------------------------ */

static int push_follow(struct wanted *wanted, struct follow next)
{
	if (grow_array(wanted->follows, wanted->room, wanted->count + 1) ||
	    !wanted->follows)
		return -ENOMEM;
	wanted->follows[wanted->count++] = next;
	return 0;
}

static int add_follow(struct wanted *wanted, struct follow next)
{
	struct follow *last =
		wanted->count ? &wanted->follows[wanted->count - 1] : NULL;

	if (!packet_place_before(next.from, next.to))
		return 0;
	if (!last || packet_place_before(last->to, next.from))
		return push_follow(wanted, next);
	if (packet_place_before(last->to, next.to)) {
		last->to = next.to;
		last->to_ns = next.to_ns;
	}
	return 0;
}

static void end_follow(struct follow *follow,
		       const struct index_checkpoint *checkpoint)
{
	follow->to = checkpoint->place;
	follow->to_ns = checkpoint->ns;
}

/* Returns a follow from checkpoint @number to the end. */
static struct follow follow_from(const struct index_sequence *of,
				 uint32_t number)
{
	return (struct follow){ .from = of->checkpoints[number].place,
				.to = { .offset = UINT64_MAX },
				.checkpoint = number,
				.seeded = true };
}

static bool may_skip(const struct index_sequence *of,
		     const struct time_range *range, uint32_t number)
{
	const struct index_chunk *chunk = &of->chunks[number];
	bool last = number + 1 == of->chunk_count;

	/* The packets behind the chunk need a place to continue. */
	return chunk->whole && !chunk->rough &&
	       chunk->start_ns >= range->from_ns &&
	       chunk->end_ns < range->to_ns && (!last || of->ended);
}

/* Finds successive chunks of @wanted's sequence inside @range. @detailed:
 * blocks of cells cover exactly these chunks. */
static void choose_chunks(struct wanted *wanted, const struct time_range *range,
			  bool detailed)
{
	const struct index_sequence *of = wanted->of;
	uint32_t at = 0, to;

	while (at < of->chunk_count &&
	       (!may_skip(of, range, at) ||
		(detailed && !of->chunks[at].begins_cells)))
		at++;
	wanted->skip_from = to = at;
	while (at < of->chunk_count && may_skip(of, range, at) &&
	       of->chunks[at].number == of->chunks[wanted->skip_from].number +
						at - wanted->skip_from) {
		if (detailed && to == at && !of->chunks[at].begins_cells)
			break;
		at++;
		if (!detailed || of->chunks[at - 1].ends_cells)
			to = at;
	}
	wanted->skip_to = to;
}

/* Wants the packets of @follow, a range that ends before @to_ns, without the
 * skipped chunks. The slices open there are returned in any case. */
static int want_around(struct wanted *wanted, struct follow follow,
		       uint64_t to_ns)
{
	const struct index_sequence *of = wanted->of;
	uint32_t next = wanted->skip_to, first;
	struct follow second;
	int err;

	first = of->chunks[wanted->skip_from].first_checkpoint;
	end_follow(&follow, &of->checkpoints[first]);
	err = push_follow(wanted, follow);
	if (err || next == of->chunk_count ||
	    of->chunks[next].start_ns >= to_ns)
		return err;
	second = follow_from(of, of->chunks[next].first_checkpoint);
	first = index_checkpoints_before(of, to_ns);
	if (first < of->checkpoint_count)
		end_follow(&second, &of->checkpoints[first]);
	return push_follow(wanted, second);
}

static int want_range(struct wanted *wanted, const struct time_range *range,
		      enum parts_skips skips)
{
	const struct index_sequence *of = wanted->of;
	uint32_t before = index_checkpoints_before(of, range->from_ns);
	uint32_t behind = index_checkpoints_before(of, range->to_ns);
	struct follow follow = { .to = { .offset = UINT64_MAX } };

	if (index_sequence_is_over(of, range->from_ns))
		return 0;
	/* If earlier packets of the index were lost, read from the start. */
	if (before || of->chunks[0].number == 1)
		follow = follow_from(of, before - (before > 0));
	if (follow.seeded && skips)
		choose_chunks(wanted, range, skips == PARTS_SKIP_DETAILED);
	if (wanted->skip_from != wanted->skip_to)
		return want_around(wanted, follow, range->to_ns);
	if (behind < of->checkpoint_count)
		end_follow(&follow, &of->checkpoints[behind]);
	return add_follow(wanted, follow);
}

/* Returns true if the slice @open at @depth has ended at checkpoint @number. */
static bool slice_is_ended(const struct index_sequence *of, uint32_t number,
			   uint32_t depth, const struct index_slice *open)
{
	struct index_stack stack;
	bool ended;

	/* A damaged stack counts as empty. */
	trace_index_stack(of, number, &stack);
	ended = depth >= stack.count ||
		stack.slices[depth].begin_ns != open->begin_ns;
	free(stack.slices);
	return ended;
}

/* Returns the first checkpoint from @at on, at least 1, where the slice @open at
 * @depth has ended; checkpoint_count: none. */
static uint32_t find_slice_end(const struct index_sequence *of, uint32_t at,
			       uint32_t depth, const struct index_slice *open)
{
	at += search_first(i, of->checkpoint_count - at,
			   slice_is_ended(of, at + i, depth, open));
	return MAX(at, 1u);
}

/* Wants the end of each slice of @range that is open behind it. */
static int want_ends(struct wanted *wanted, const struct time_range *range)
{
	const struct index_sequence *of = wanted->of;
	uint32_t at = index_checkpoints_before(of, range->to_ns);
	struct index_stack open;
	int err = 0;

	if (!wanted->count || at == of->checkpoint_count)
		return 0;
	trace_index_stack(of, at, &open);
	for (uint32_t depth = open.count; depth-- > 0 && !err;) {
		const struct index_slice *slice = &open.slices[depth];
		struct follow follow;

		if (slice->begin_ns >= range->to_ns)
			continue;
		/* The caller of a slice ends behind it. */
		at = find_slice_end(of, at, depth, slice);
		follow = follow_from(of, at - 1);
		if (at < of->checkpoint_count)
			end_follow(&follow, &of->checkpoints[at]);
		err = add_follow(wanted, follow);
		if (at == of->checkpoint_count)
			break;
	}
	free(open.slices);
	return err;
}

/* --- whole chunks of a thread --------------------------------------------- */

/* Returns true if the index describes chunk @number, and nothing is lost behind
 * it. */
static bool is_complete(const struct index_sequence *of, uint32_t number)
{
	const struct index_chunk *chunk = &of->chunks[number];

	return chunk->whole && (number + 1 == of->chunk_count
					? of->ended
					: chunk[1].number == chunk->number + 1);
}

/* Marks the chunks where slices begin that are open at the start of @range.
 * Returns 0 or -errno of trace_index_stack(). */
static int mark_begins(const struct index_sequence *of,
		       const struct time_range *range, bool *marks)
{
	uint32_t at = index_checkpoints_before(of, range->from_ns);
	struct index_stack open;
	int err;

	if (!at)
		return 0;
	err = trace_index_stack(of, at - 1, &open);
	for (uint32_t i = 0; i < open.count; i++)
		for (uint32_t j = 0; j < of->chunk_count; j++)
			marks[j] |=
				of->chunks[j].start_ns <=
					open.slices[i].begin_ns &&
				of->chunks[j].end_ns >= open.slices[i].begin_ns;
	free(open.slices);
	return err;
}

/* Marks the chunks where slices of @range end that are open behind it. Returns 0
 * or -errno of trace_index_stack(). */
static int mark_ends(const struct index_sequence *of,
		     const struct time_range *range, bool *marks)
{
	uint32_t at = index_checkpoints_before(of, range->to_ns);
	struct index_stack open;
	int err;

	if (at == of->checkpoint_count)
		return 0;
	err = trace_index_stack(of, at, &open);
	for (uint32_t depth = open.count; depth-- > 0;) {
		const struct index_slice *slice = &open.slices[depth];

		if (slice->begin_ns >= range->to_ns)
			continue;
		at = find_slice_end(of, at, depth, slice);
		marks[of->checkpoints[at - 1].chunk] = true;
		if (at == of->checkpoint_count)
			break;
	}
	free(open.slices);
	return err;
}

/* Adds the time of callees of the open slices in chunk @number to
 * @callee_ns. @depths: by node, the number of its slice plus 1; NULL: only reads
 * the sums. Returns 0 or -EIO. */
static int add_callees(struct trace_parts *parts,
		       const struct index_sequence *of, uint32_t number,
		       const uint32_t *depths, uint64_t *callee_ns)
{
	const struct index_chunk *chunk = &of->chunks[number];
	struct index_get rows =
		index_load(parts->index, chunk->rows, &parts->rows);
	uint64_t left = chunk->row_count;
	struct index_row row;
	int64_t node = 0;

	for (; left && index_row_next(of, &rows, &node, &row); left--) {
		uint32_t parent = of->nodes[row.node].parent;

		if (depths && parent < of->node_count && depths[parent])
			callee_ns[depths[parent] - 1] += row.total_ns;
	}
	return left ? -EIO : 0;
}

/* Marks the chunks between marked ones whose sums cannot be read. */
static void mark_unreadable(struct trace_parts *parts,
			    const struct index_sequence *of, bool *marks)
{
	uint32_t first = 0, end = of->chunk_count;

	while (first < end && !marks[first])
		first++;
	while (end > first && !marks[end - 1])
		end--;
	for (uint32_t i = first; i < end; i++)
		marks[i] = marks[i] || add_callees(parts, of, i, NULL, NULL);
}

static void mark_needed(struct trace_parts *parts,
			const struct index_sequence *of, bool *marks)
{
	const struct parts_choice *choice = &parts->choice;
	const struct time_range *range = choice->ranges;

	for (uint32_t i = 0; i < of->chunk_count; i++) {
		const struct index_chunk *chunk = &of->chunks[i];

		marks[i] =
			!is_complete(of, i) ||
			(choice->wants
				 ? choice->wants(choice->context, of, i)
				 : chunk->rough ||
					   (chunk->start_ns < range->to_ns &&
					    chunk->end_ns >= range->from_ns));
	}
	if (choice->wants)
		return;
	if (mark_begins(of, range, marks) || mark_ends(of, range, marks))
		memset(marks, true, of->chunk_count);
	mark_unreadable(parts, of, marks);
}

static int want_chunks(struct trace_parts *parts, struct wanted *wanted)
{
	const struct index_sequence *of = wanted->of;
	bool *marks = calloc((size_t)of->chunk_count + 1, sizeof(*marks));
	struct follow follow = { 0 };
	int err = 0;

	if (!marks)
		return -ENOMEM;
	mark_needed(parts, of, marks);
	/* Earlier packets of the index were lost: read from the start. */
	if (of->chunks[0].number != 1) {
		end_follow(&follow, &of->checkpoints[0]);
		err = add_follow(wanted, follow);
	}
	for (uint32_t i = 0; i < of->chunk_count && !err; i++) {
		uint32_t first = of->chunks[i].first_checkpoint;

		if (!marks[i])
			continue;
		follow = follow_from(of, first);
		if (i + 1 < of->chunk_count)
			end_follow(&follow,
				   &of->checkpoints[of->chunks[i + 1]
							    .first_checkpoint]);
		err = add_follow(wanted, follow);
	}
	free(marks);
	return err;
}

static int want(struct trace_parts *parts, struct wanted *wanted)
{
	const struct parts_choice *choice = &parts->choice;
	const struct index_sequence *of = wanted->of;
	int err = 0;

	if (!of->checkpoint_count)
		return 0;
	if (choice->wants)
		return want_chunks(parts, wanted);
	if (choice->has && !choice->has(choice->context, of))
		return 0;
	if (choice->callees)
		return index_sequence_is_over(of, choice->ranges->from_ns)
			       ? 0
			       : want_chunks(parts, wanted);
	for (uint32_t i = 0; i < choice->range_count && !err; i++) {
		err = want_range(wanted, &choice->ranges[i], choice->skips);
		if (!err && choice->ends)
			err = want_ends(wanted, &choice->ranges[i]);
	}
	return err;
}

/* Returns true if @item, an INDEX_TRACK, has begins of slices. */
static bool has_begins(const struct index_packet *item)
{
	struct index_get get = { .at = item->at,
				 .end = item->at + item->count };

	index_get_number(&get);
	index_get_number(&get);
	while (get.at != get.end) {
		uint64_t count = index_get_number(&get);

		if (get.bad || count > (uint64_t)(get.end - get.at) ||
		    look_at((struct trace_packet_bytes){ get.at, count }).begin)
			return true;
		get.at += count;
	}
	return false;
}

/* Returns true if @index has what @choice needs. It does not have the ends of
 * slices without a thread that go on behind their extent. perfrec writes such
 * slices when they end, so only traces of others have them. */
static bool is_enough(const struct trace_index *index,
		      const struct parts_choice *choice)
{
	if (choice->calls_only)
		return true;
	for (uint32_t i = 0; choice->ends && i < index->packet_count; i++)
		if (index->packets[i].kind == INDEX_TRACK &&
		    has_begins(&index->packets[i]))
			return false;
	return index->has_rest;
}

static int plan(struct trace_parts *parts)
{
	const struct trace_index *index = parts->index;
	uint64_t first_ns;
	int err = 0;

	parts->wanted = calloc((size_t)index->sequence_count + 1,
			       sizeof(*parts->wanted));
	if (!parts->wanted)
		return -ENOMEM;
	for (uint32_t i = 0; i < index->sequence_count && !err; i++) {
		parts->wanted[i].named = parts->choice.calls_only;
		parts->wanted[i].of = &index->sequences[i];
		err = want(parts, &parts->wanted[i]);
	}
	trace_index_times(index, &first_ns, &parts->last_ns);
	return err;
}

int trace_parts_open(const char *path, const struct trace_index *index,
		     const struct parts_choice *choice,
		     struct trace_parts **out)
{
	struct trace_parts *parts = calloc(1, sizeof(*parts));
	int err;

	if (!parts)
		return -ENOMEM;
	parts->choice = *choice;
	parts->choice.no_rest |= choice->calls_only;
	err = trace_packets_open(path, &parts->packets);
	if (!err && index && is_enough(index, choice)) {
		parts->index = index;
		parts->path = strdup(path);
		err = parts->path ? plan(parts) : -ENOMEM;
	}
	parts->reading = parts->at_tail = !parts->index;
	if (err)
		trace_parts_close(&parts);
	else
		*out = parts;
	return err;
}

static void free_seeding(struct seeding *seeding)
{
	free(seeding->stack.slices);
	free(seeding->callee_ns);
}

void trace_parts_close(struct trace_parts **parts)
{
	struct trace_parts *freed = *parts;

	if (!freed)
		return;
	for (uint32_t i = 0;
	     freed->index && freed->wanted && i < freed->index->sequence_count;
	     i++)
		free(freed->wanted[i].follows);
	free(freed->wanted);
	if (freed->has_interned)
		index_interned_release(&freed->interned);
	free(freed->path);
	free_seeding(&freed->seeding);
	free(freed->rows.at);
	bytes_release(&freed->made);
	bytes_release(&freed->inner);
	bytes_release(&freed->found);
	trace_packets_close(&freed->packets);
	free(freed);
	*parts = NULL;
}

/* Returns the entry of sequence @id; NULL: not in the index. */
static struct wanted *wanted_of(struct trace_parts *parts, uint64_t id)
{
	const struct trace_index *index = parts->index;
	const struct index_sequence *sequence;

	if (parts->last < index->sequence_count &&
	    index->sequences[parts->last].id == id)
		return &parts->wanted[parts->last];
	sequence = id <= UINT32_MAX ? trace_index_sequence(index, (uint32_t)id)
				    : NULL;
	if (!sequence)
		return NULL;
	parts->last = (uint32_t)(sequence - index->sequences);
	return &parts->wanted[parts->last];
}

/* --- extents to read ------------------------------------------------------ */

/* Returns true if @extent has packets of @wanted's sequence to return. Called
 * for extents in their order. */
static bool wants(struct wanted *wanted, const struct index_extent *extent)
{
	const struct follow *follow;

	while (wanted->planned < wanted->count &&
	       wanted->follows[wanted->planned].to.offset < extent->offset)
		wanted->planned++;
	if (wanted->planned == wanted->count)
		return false;
	follow = &wanted->follows[wanted->planned];
	return follow->from.offset < extent->end;
}

static bool needs_threads(struct trace_parts *parts,
			  const struct index_extent *extent)
{
	struct index_get get = extent->sequences;
	uint32_t kept = parts->last;
	bool needed = false;
	uint64_t id = 0;

	parts->last = 0;
	for (uint32_t i = 0; i < extent->sequence_count && !needed; i++) {
		struct wanted *wanted;

		id += index_get_number(&get);
		wanted = wanted_of(parts, id);
		/* A sequence unknown to the index is read from its start. */
		needed = !wanted || !wanted->of->checkpoint_count ||
			 wants(wanted, extent);
		parts->last++;
	}
	parts->last = kept;
	return needed;
}

static bool needs_rest(const struct trace_parts *parts,
		       const struct index_extent *extent)
{
	if (parts->choice.no_rest)
		return false;
	return overlaps(parts, extent->rest.first_ns, extent->rest.last_ns) ||
	       overlaps(parts, extent->sched_first_ns, extent->sched_last_ns);
}

static bool needs_extent(struct trace_parts *parts,
			 const struct index_extent *extent)
{
	if (needs_threads(parts, extent))
		return true;
	if (parts->choice.calls_only)
		return false;
	return extent->untimed || needs_rest(parts, extent) ||
	       overlaps(parts, extent->absolute_first_ns,
			extent->absolute_last_ns);
}

static void read_stretch(struct trace_parts *parts, uint64_t offset,
			 uint64_t end)
{
	parts->stretch = (struct file_stretch){ offset, end };
	parts->reading = true;
	trace_packets_only(parts->packets, &parts->stretch, 1);
}

/* Moves to the next extent, or to the part behind all extents, which may have
 * any time. */
static void next_extent(struct trace_parts *parts)
{
	const struct trace_index *index = parts->index;
	const struct index_extent *extent, *before = NULL;

	if (parts->extent)
		before = &index->extents[parts->extent - 1];
	if (parts->extent == index->extent_count ||
	    index->extents[parts->extent].end > index->trace_bytes) {
		parts->at_tail = true;
		read_stretch(parts, before ? before->end : 0, UINT64_MAX);
		return;
	}
	extent = &index->extents[parts->extent++];
	if (!parts->choice.calls_only) {
		parts->item = before ? before->packet_end : 0;
		parts->item_end = extent->packet_end;
	}
	if (needs_extent(parts, extent))
		read_stretch(parts, extent->offset, extent->end);
}

/* --- synthesized packets -------------------------------------------------- */

static void begin_made(struct trace_parts *parts, uint32_t sequence)
{
	bytes_clear(&parts->made);
	bytes_field(&parts->made, TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
		    sequence);
}

static int give_made(struct trace_parts *parts, struct trace_part *out)
{
	if (parts->made.failed || parts->inner.failed)
		return -ENOMEM;
	*out = (struct trace_part){ .kind = PART_PACKET,
				    .bytes = { parts->made.at,
					       parts->made.count } };
	return 1;
}

static int give_packet(struct trace_packet_bytes bytes, struct trace_part *out)
{
	*out = (struct trace_part){ .kind = PART_PACKET, .bytes = bytes };
	return 1;
}

static int give_interned(struct trace_parts *parts, uint32_t sequence,
			 const void *at, size_t count, struct trace_part *out)
{
	begin_made(parts, sequence);
	bytes_part(&parts->made, TAG_TRACE_PACKET_INTERNED_DATA, at, count);
	return give_made(parts, out);
}

static int give_event(struct trace_parts *parts, uint32_t sequence, uint64_t ns,
		      const void *at, size_t count, struct trace_part *out)
{
	begin_made(parts, sequence);
	bytes_part(&parts->made, TAG_TRACE_PACKET_TRACK_EVENT, at, count);
	bytes_field(&parts->made, TAG_TRACE_PACKET_TIMESTAMP, ns);
	bytes_field(&parts->made, TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
		    CLOCK_BOOTTIME_ID);
	return give_made(parts, out);
}

static bool lacks_names(const struct wanted *wanted)
{
	return wanted && !wanted->named && wanted->of->name_count;
}

static int give_names(struct trace_parts *parts, struct wanted *wanted,
		      struct trace_part *out)
{
	const struct index_sequence *of = wanted->of;
	struct bytes *inner = &parts->inner;

	wanted->named = true;
	bytes_clear(inner);
	for (uint32_t i = 0; i < of->name_count; i++) {
		const struct index_text *text =
			&parts->index->texts[of->names[i].text - 1];
		uint32_t iid = of->names[i].iid;

		bytes_field(inner, TAG_INTERNED_DATA_EVENT_NAMES,
			    bytes_field_size(TAG_EVENT_NAME_IID, iid) +
				    bytes_field_size(TAG_EVENT_NAME_NAME,
						     text->count) +
				    text->count);
		bytes_field(inner, TAG_EVENT_NAME_IID, iid);
		bytes_part(inner, TAG_EVENT_NAME_NAME, text->at, text->count);
	}
	return give_interned(parts, of->id, inner->at, inner->count, out);
}

/* --- open slices at the start of a sequence ------------------------------- */

/* Sums up the callees of the open slices in the chunks before the current follow
 * of @wanted's sequence that were skipped. */
static int sum_callees(struct trace_parts *parts, const struct wanted *wanted)
{
	const struct index_sequence *of = wanted->of;
	const struct follow *follow = &wanted->follows[wanted->at];
	struct seeding *seeding = &parts->seeding;
	const struct index_stack *open = &seeding->stack;
	uint32_t to = of->checkpoints[follow->checkpoint].chunk, from = to;
	uint32_t *depths = calloc((size_t)of->node_count + 1, sizeof(*depths));
	uint64_t *callee_ns =
		calloc((size_t)open->count + 1, sizeof(*callee_ns));
	int err = depths && callee_ns ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < open->count && !err; i++)
		depths[open->slices[i].node] = i + 1;
	while (from && !err) {
		uint32_t first = of->chunks[from - 1].first_checkpoint;

		if (packet_place_before(of->checkpoints[first].place,
					follow[-1].to))
			break;
		err = add_callees(parts, of, --from, depths, callee_ns);
	}
	/* The end of an open callee will add all of its time. */
	for (uint32_t i = 1; i < open->count && from < to && !err; i++)
		callee_ns[i - 1] -=
			seeding->ns - MAX(open->slices[i].begin_ns,
					  of->chunks[from].start_ns);
	free(depths);
	seeding->callee_ns = callee_ns;
	return err;
}

static void start_seeding(struct trace_parts *parts, struct wanted *wanted)
{
	const struct follow *follow = &wanted->follows[wanted->at];

	wanted->following = true;
	if (!follow->seeded)
		return;
	free_seeding(&parts->seeding);
	parts->seeding = (struct seeding){
		.of = wanted,
		.ns = wanted->of->checkpoints[follow->checkpoint].ns,
		.left_ns = wanted->at ? follow[-1].to_ns : 0,
	};
	/* A damaged stack counts as empty. */
	trace_index_stack(wanted->of, follow->checkpoint,
			  &parts->seeding.stack);
	if (parts->choice.callees && wanted->at && !parts->err)
		parts->err = sum_callees(parts, wanted);
}

/* Makes a TRACE_BEGIN event with the fields of the slice's site only, in the
 * order of encode.c. */
static int make_begin(struct trace_parts *parts,
		      const struct index_sequence *of, uint32_t iid)
{
	struct bytes *inner = &parts->inner;
	uint32_t has;

	if (!parts->has_interned &&
	    index_interned_take(&parts->interned, parts->index)) {
		index_interned_release(&parts->interned);
		return -ENOMEM;
	}
	parts->has_interned = true;
	has = index_interned_has(&parts->interned, of->id, iid);
	bytes_clear(inner);
	bytes_field(inner, TAG_TRACK_EVENT_TYPE, TYPE_SLICE_BEGIN);
	if (has & INTERNED_CATEGORY)
		bytes_field(inner, TAG_TRACK_EVENT_CATEGORY_IIDS, iid);
	if (has & INTERNED_NAME)
		bytes_field(inner, TAG_TRACK_EVENT_NAME_IID, iid);
	if (has & INTERNED_LOCATION)
		bytes_field(inner, TAG_TRACK_EVENT_SOURCE_LOCATION_IID, iid);
	return 0;
}

/* Makes the event in parts->found. Returns 0 if it has none. */
static int give_found(struct trace_parts *parts, uint32_t sequence, uint64_t ns,
		      struct trace_part *out)
{
	struct wire fields = { parts->found.at,
			       parts->found.at + parts->found.count };
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_TRACE_PACKET_TRACK_EVENT)
			return give_event(parts, sequence, ns, field.bytes,
					  field.value, out);
	return 0;
}

static int give_slice(struct trace_parts *parts, struct trace_part *out)
{
	struct seeding *seeding = &parts->seeding;
	const struct index_sequence *of = seeding->of->of;
	uint32_t depth = seeding->slice++;
	const struct index_slice *slice = &seeding->stack.slices[depth];
	uint32_t iid = of->nodes[slice->node].iid;
	int got = 0;

	/* A slice without a name is a wait. */
	if ((slice->noted || !iid) &&
	    trace_begin_find(parts->path, of, slice->begin_ns, depth,
			     &parts->found))
		got = give_found(parts, of->id, slice->begin_ns, out);
	if (!got)
		got = make_begin(parts, of, iid)
			      ?: give_event(parts, of->id, slice->begin_ns,
					    parts->inner.at, parts->inner.count,
					    out);
	out->seed = true;
	out->ns = slice->begin_ns;
	out->callee_ns = seeding->callee_ns ? seeding->callee_ns[depth] : 0;
	return got;
}

/* Returns true if @wanted's sequence continues behind its last follow: the
 * slices open there must end. */
static bool must_close(const struct wanted *wanted)
{
	return wanted->count && !wanted->closed &&
	       wanted->follows[wanted->count - 1].to.offset != UINT64_MAX;
}

static int give_seed(struct trace_parts *parts, struct trace_part *out)
{
	struct seeding *seeding = &parts->seeding;
	struct wanted *of = seeding->of;

	if (lacks_names(of))
		return give_names(parts, of, out);
	if (!seeding->restarted) {
		seeding->restarted = true;
		*out = (struct trace_part){
			.kind = PART_RESTART,
			.sequence = of->of->id,
			.ns = seeding->ns,
			.left_ns = seeding->left_ns,
			.anew = of->at && parts->choice.skips,
		};
		return 1;
	}
	if (seeding->slice < seeding->stack.count)
		return give_slice(parts, out);
	seeding->of = NULL;
	return 0;
}

static void start_closing(struct trace_parts *parts, struct wanted *wanted)
{
	wanted->closed = true;
	free_seeding(&parts->seeding);
	parts->seeding = (struct seeding){
		.of = wanted,
		.ns = wanted->follows[wanted->count - 1].to_ns,
		.left_ns = wanted->follows[wanted->count - 1].to_ns,
	};
}

/* A sequence whose packets were cut off still has open slices. */
static bool seed_left(struct trace_parts *parts)
{
	for (uint32_t i = 0; parts->index && i < parts->index->sequence_count;
	     i++) {
		struct wanted *wanted = &parts->wanted[i];

		if (wanted->following && wanted->at + 1 < wanted->count) {
			wanted->at++;
			wanted->following = false;
		}
		if (wanted->at < wanted->count && !wanted->following)
			start_seeding(parts, wanted);
		else if (must_close(wanted))
			start_closing(parts, wanted);
		if (parts->seeding.of)
			return true;
	}
	return false;
}

/* --- replacement of skipped extents --------------------------------------- */

/* Returns true if the packets of @wanted's sequence at @place are returned. */
static bool is_followed(const struct wanted *wanted, struct packet_place place)
{
	for (uint32_t i = 0; i < wanted->count; i++)
		if (packet_place_before(place, wanted->follows[i].to))
			return !packet_place_before(place,
						    wanted->follows[i].from);
	return false;
}

static int give_value(struct trace_parts *parts,
		      const struct index_packet *item, struct trace_part *out)
{
	struct index_get get = { .at = item->at,
				 .end = item->at + item->count };
	struct wanted *wanted = wanted_of(parts, item->sequence);
	uint64_t ns = index_get_number(&get);
	int got = 0;

	if (get.bad || !wanted || is_followed(wanted, item->place) ||
	    overlaps(parts, ns, ns)) {
		parts->item++;
		return 0;
	}
	if (lacks_names(wanted))
		return give_names(parts, wanted, out);
	parts->item++;
	got = give_event(parts, item->sequence, ns, get.at,
			 (size_t)(get.end - get.at), out);
	return got;
}

static int give_track(struct trace_parts *parts,
		      const struct index_packet *item, struct trace_part *out)
{
	const struct index_extent *extent =
		&parts->index->extents[parts->extent - 1];

	parts->track = (struct index_get){ .at = item->at,
					   .end = item->at + item->count };
	*out = (struct trace_part){ .kind = PART_TRACK,
				    .ns = extent->rest.first_ns };
	out->uuid = index_get_number(&parts->track);
	out->count = index_get_number(&parts->track);
	return !parts->track.bad;
}

static int give_switch(struct trace_parts *parts, struct trace_part *out)
{
	struct index_get *get = &parts->switches;
	uint64_t cpu = index_get_number(get), state;

	*out = (struct trace_part){ .kind = PART_SWITCH,
				    .sequence = parts->switch_sequence };
	parts->switch_ns += (uint64_t)index_unzigzag(index_get_number(get));
	out->at.ns = parts->switch_ns;
	out->at.cpu = (uint32_t)cpu;
	out->at.left = (int32_t)index_get_number(get);
	out->at.came = (int32_t)index_get_number(get);
	state = index_get_number(get);
	out->at.why = trace_left_of(state >> 1);
	out->at.lost = state & 1;
	if (!get->bad && cpu < TRACE_CPUS_MAX)
		return 1;
	get->at = get->end;
	return 0;
}

/* The next packet of a PART_TRACK. */
static int give_left(struct trace_parts *parts, struct trace_part *out)
{
	struct index_get next = parts->track;
	uint64_t count = index_get_number(&next);
	struct trace_packet_bytes bytes = { next.at, count };
	struct wanted *wanted;

	if (next.bad || count > (uint64_t)(next.end - next.at)) {
		parts->track.at = parts->track.end;
		return 0;
	}
	wanted = wanted_of(parts, packet_sequence_id((struct wire){
					  bytes.at, bytes.at + bytes.count }));
	if (lacks_names(wanted))
		return give_names(parts, wanted, out);
	parts->track.at = next.at + count;
	return give_packet(bytes, out);
}

/* Processes the next item of the current extent; only values if that is read.
 * Returns 1; 0: nothing to return; or -ENOMEM. */
static int give_item(struct trace_parts *parts, struct trace_part *out)
{
	const struct index_packet *item = &parts->index->packets[parts->item];

	if (item->kind == INDEX_VALUE)
		return give_value(parts, item, out);
	parts->item++;
	if (parts->reading)
		return 0;
	switch (item->kind) {
	case INDEX_PACKET:
		return give_packet(
			(struct trace_packet_bytes){ item->at, item->count },
			out);
	case INDEX_INTERNED:
		return give_interned(parts, item->sequence, item->at,
				     item->count, out);
	case INDEX_TRACK:
		return give_track(parts, item, out);
	default:
		parts->switches =
			(struct index_get){ .at = item->at,
					    .end = item->at + item->count };
		parts->switch_sequence =
			(uint32_t)index_get_number(&parts->switches);
		parts->switch_ns = 0;
		return 0;
	}
}

/* --- packets of extents that are read ------------------------------------- */

/* A packet of a sequence that is not followed here. */
static int give_passed(struct trace_parts *parts, struct wanted *wanted,
		       struct trace_packet_bytes bytes, struct trace_part *out)
{
	struct look look;
	bool absolute;

	if (parts->choice.calls_only)
		return 0;
	look = look_at(bytes);
	/* A checkpoint has the thread's own slices, even those with an absolute
	 * time. */
	absolute = look.clock && look.clock < CLOCK_SEQUENCE_FIRST &&
		   !(look.begin && look.own);
	if (!look.event)
		return give_packet(bytes, out);
	if (absolute && lacks_names(wanted)) {
		parts->held = bytes;
		return give_names(parts, wanted, out);
	}
	if (absolute)
		return give_packet(bytes, out);
	if (!look.interned.at)
		return 0;
	return give_interned(parts, wanted->of->id, look.interned.at,
			     (size_t)(look.interned.end - look.interned.at),
			     out);
}

/* Moves the follows of @wanted's sequence to @place. Returns true if something
 * must be returned before the packet. */
static bool go_to(struct trace_parts *parts, struct wanted *wanted,
		  struct packet_place place)
{
	for (; wanted->at < wanted->count; wanted->at++) {
		const struct follow *follow = &wanted->follows[wanted->at];

		if (packet_place_before(place, follow->from))
			return false;
		if (!wanted->following)
			start_seeding(parts, wanted);
		if (parts->seeding.of || packet_place_before(place, follow->to))
			return parts->seeding.of;
		wanted->following = false;
	}
	if (must_close(wanted))
		start_closing(parts, wanted);
	return parts->seeding.of;
}

static int take_packet(struct trace_parts *parts,
		       struct trace_packet_bytes bytes, struct trace_part *out)
{
	const struct wire fields = { bytes.at, bytes.at + bytes.count };
	struct wanted *wanted;

	if (!parts->index)
		return give_packet(bytes, out);
	wanted = wanted_of(parts, packet_sequence_id(fields));
	if (!wanted)
		return give_packet(bytes, out);
	if (!wanted->of->checkpoint_count) {
		/* A packet may end the names of its sequence so far. */
		if (!lacks_names(wanted) ||
		    wire_find(fields, TAG_TRACE_PACKET_SEQUENCE_FLAGS) &
			    SEQUENCE_CLEARED)
			return give_packet(bytes, out);
		parts->held = bytes;
		return give_names(parts, wanted, out);
	}
	if (go_to(parts, wanted, trace_packets_place(parts->packets))) {
		parts->held = bytes;
		return 0;
	}
	if (wanted->following)
		return give_packet(bytes, out);
	return give_passed(parts, wanted, bytes, out);
}

/* Returns 1; 0: nothing to return; or -errno. */
static int read_packet(struct trace_parts *parts, struct trace_part *out)
{
	struct trace_packet_bytes bytes;
	int got = trace_packets_next(parts->packets, &bytes);

	if (got > 0)
		return take_packet(parts, bytes, out);
	if (!got && !parts->at_tail) {
		parts->reading = false;
		return 0;
	}
	parts->reading = false;
	parts->ended = true;
	return got;
}

/* --- the next part ------------------------------------------------------- */

/* Returns 1; 0: this step returned nothing; or -errno. */
static int step(struct trace_parts *parts, struct trace_part *out)
{
	struct trace_packet_bytes held = parts->held;

	if (parts->seeding.of)
		return give_seed(parts, out);
	if (held.at) {
		parts->held.at = NULL;
		return take_packet(parts, held, out);
	}
	if (parts->track.at != parts->track.end)
		return give_left(parts, out);
	if (parts->switches.at != parts->switches.end)
		return give_switch(parts, out);
	if (parts->item != parts->item_end)
		return give_item(parts, out);
	if (parts->reading)
		return read_packet(parts, out);
	next_extent(parts);
	return 0;
}

int trace_parts_next(struct trace_parts *parts, struct trace_part *out)
{
	int got = 0;

	while (!got) {
		if (parts->ended && !parts->seeding.of && !seed_left(parts))
			return 0;
		got = step(parts, out);
		if (parts->err)
			return parts->err;
	}
	return got;
}

bool trace_parts_skipped(const struct trace_parts *parts, uint32_t number,
			 uint32_t *first, uint32_t *last)
{
	const struct wanted *wanted = &parts->wanted[number];

	if (wanted->skip_from == wanted->skip_to)
		return false;
	*first = wanted->skip_from;
	*last = wanted->skip_to - 1;
	return true;
}

uint64_t trace_parts_last_ns(const struct trace_parts *parts)
{
	return parts->last_ns;
}

const struct trace_index *trace_parts_index(const struct trace_parts *parts)
{
	return parts->index;
}

struct trace_packets *trace_parts_packets(struct trace_parts *parts)
{
	return parts->packets;
}
