/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_view - notes the contents of the memory under its lock, in a few
 * instructions for each segment; all other work is done without the lock.
 *
 * For a sequence in the compact form the view starts with the last segment that
 * begins before the range, or with the oldest. Earlier segments are skipped as
 * if they were dropped. Each sequence then starts with its packets without
 * times, its lasting state, and the slices open by the restart point.
 */
#include "collector/trace/flight_view.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/base/bytes.h"
#include "collector/base/grow.h"
#include "collector/base/protobuf.h"
#include "collector/trace/compact_unpack.h"
#include "collector/trace/flight_memory_inner.h"
#include "shared/compiler.h"

struct view_segment {
	struct flight_cut cut;
	uint32_t sequence;
	uint64_t first_ns, last_ns;
	uint64_t place_ns; /* not less than that of the segment before in the
			    * same sequence */
	uint32_t number; /* index in segments at the time of noting */
	bool packets;
};

struct view_sequence {
	uint32_t id;
	bool compact;
	uint64_t start_ns;
	struct flight_cut kept;
	struct flight_left left;
	struct flight_text *more; /* packets without times of skipped
				   * segments */
	uint32_t first, count;
	bool begun; /* its open slices are in the view */
	uint64_t ns; /* of the last event read */
	struct compact_unpack unpack;
};

struct flight_view {
	struct flight_memory *memory;
	uint64_t from_ns, to_ns;
	uint64_t first_ns; /* of the memory, at the start of the view */
	struct view_sequence *sequences;
	uint32_t sequence_count, sequence_room;
	struct view_segment *segments; /* sorted by sequence, later by time */
	uint32_t segment_count, segment_room;
	bool failed;

	/* The position: */
	uint32_t at_kept; /* sequences whose packets without times are done */
	uint32_t at_segment;
	/* The unread events of a segment in the compact form. */
	const struct view_segment *compact; /* NULL: none */
	struct flight_part *part; /* part with from */
	struct compact from;
	struct bytes packets; /* of a segment, of an event, or the description
			       * of a sequence */
	size_t at;
};

/* --- contents of the memory ---------------------------------------------- */

static void note_segments(struct flight_view *view,
			  const struct flight_sequence *from,
			  struct view_sequence *sequence)
{
	uint64_t place_ns = 0;

	sequence->first = view->segment_count;
	for (struct flight_segment *segment = from->first; segment;
	     segment = segment->next) {
		if (grow_array(view->segments, view->segment_room,
			       view->segment_count + 1u)) {
			view->failed = true;
			return;
		}
		/* Packets of a later segment may start earlier: the switches of
		 * a CPU that has few. */
		place_ns = MAX(place_ns, segment->first_ns);
		view->segments[view->segment_count] = (struct view_segment){
			.cut = flight_text_cut(segment->text),
			.sequence = view->sequence_count,
			.first_ns = segment->first_ns,
			.last_ns = segment->last_ns,
			.place_ns = place_ns,
			.number = view->segment_count,
			.packets = segment->packets,
		};
		view->segment_count++;
	}
	sequence->count = view->segment_count - sequence->first;
}

static void note_sequence(struct flight_view *view,
			  const struct flight_sequence *from)
{
	struct view_sequence *sequence;

	if (grow_array(view->sequences, view->sequence_room,
		       view->sequence_count + 1u)) {
		view->failed = true;
		return;
	}
	sequence = &view->sequences[view->sequence_count];
	*sequence =
		(struct view_sequence){ .id = from->id,
					.compact = from->compact,
					.start_ns = from->start_ns,
					.kept = flight_text_cut(from->kept) };
	flight_left_copy(&from->left, &sequence->left);
	note_segments(view, from, sequence);
	view->sequence_count++;
}

static void note_all(struct flight_view *view)
{
	struct flight_memory *memory = view->memory;

	lock_acquire(&memory->lock);
	view->first_ns = memory->first_ns;
	for (uint32_t i = 0; i < memory->sequence_count && !view->failed; i++)
		note_sequence(view, memory->sequences[i]);
	lock_release(&memory->lock);
}

/* --- skipped segments ----------------------------------------------------- */

/* Returns how many of the first segments of @sequence the view does not
 * need. */
static uint32_t count_early(const struct flight_view *view,
			    const struct view_sequence *sequence)
{
	const struct view_segment *segments;
	uint32_t early = 0;

	/* No sequence has a segment. */
	if (!view->segments)
		return 0;
	segments = view->segments + sequence->first;
	while (early + 1 < sequence->count &&
	       (sequence->compact ? segments[early + 1].first_ns < view->from_ns
				  : segments[early].last_ns < view->from_ns))
		early++;
	/* Keep one more, which has the running threads of the CPUs. */
	return early - (!sequence->compact && early);
}

static void pass_over(struct flight_view *view, struct view_sequence *sequence)
{
	uint32_t early = count_early(view, sequence);
	struct flight_sequence like = { .id = sequence->id,
					.compact = sequence->compact };

	sequence->more = flight_text_new();
	if (!sequence->more) {
		view->failed = true;
		return;
	}
	for (uint32_t i = 0; i < early; i++) {
		struct view_segment *segment =
			&view->segments[sequence->first + i];
		const struct flight_segment passed = {
			.of = &like, .packets = segment->packets
		};

		flight_segment_leave(&passed, &segment->cut, &segment[1].cut,
				     &sequence->left, sequence->more);
		segment->sequence = UINT32_MAX; /* not shown */
	}
}

static int compare_times(const void *left, const void *right)
{
	const struct view_segment *a = left, *b = right;

	if (a->place_ns != b->place_ns)
		return a->place_ns < b->place_ns ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* --- packets ------------------------------------------------------------- */

static void put_cut(struct flight_view *view, const struct flight_cut *cut)
{
	struct flight_part *part = NULL;
	uint32_t bytes;

	while (flight_cut_next(cut, &part, &bytes))
		bytes_put(&view->packets, part->at, bytes);
}

static void put_left_packet(struct flight_view *view,
			    struct view_sequence *sequence,
			    const struct left_packet *packet, uint64_t ns)
{
	const struct compact_event event = {
		.kind = COMPACT_IS_PACKET,
		.delta_ns = packet->delta_ns,
		.packet = packet->bytes,
		.packet_bytes = packet->count,
	};

	if (sequence->compact)
		compact_unpack_event(&sequence->unpack, ns, &event,
				     &view->packets);
	else if (packet->count)
		bytes_put(&view->packets, packet->bytes, packet->count);
}

/* Puts the description of @sequence and its lasting state. */
static void put_kept(struct flight_view *view, struct view_sequence *sequence)
{
	struct flight_cut more = { sequence->more, sequence->more->last,
				   sequence->more->last
					   ? sequence->more->last->bytes
					   : 0 };

	put_cut(view, &sequence->kept);
	put_cut(view, &more);
	compact_unpack_init(&sequence->unpack, sequence->id,
			    sequence->start_ns);
	/* Steps do not matter for the state of other tracks: these packets are
	 * from before the view. */
	for (uint32_t i = 0; i < sequence->left.count; i++) {
		const struct left_track *track = &sequence->left.tracks[i];
		uint64_t ns = sequence->unpack.encoder.last_ns;

		for (uint32_t j = 0; track->uuid && j < track->begin_count; j++)
			put_left_packet(view, sequence, &track->begins[j], ns);
		if (track->value.bytes)
			put_left_packet(view, sequence, &track->value, ns);
	}
}

static void put_open(struct flight_view *view, struct view_sequence *sequence,
		     const struct compact_slice *slice)
{
	const struct left_packet *noted =
		slice->noted
			? flight_left_begin(&sequence->left, slice->begin_ns)
			: NULL;
	const struct compact_event plain = { .kind = COMPACT_IS_BEGIN,
					     .name_iid = slice->name_iid };

	if (noted)
		put_left_packet(view, sequence, noted, slice->begin_ns);
	else if (slice->name_iid)
		compact_unpack_event(&sequence->unpack, slice->begin_ns, &plain,
				     &view->packets);
}

/* Reads the slices of a restart point. The view gets the slices of the first
 * restart point of a sequence. */
static void put_restart(struct flight_view *view,
			struct view_sequence *sequence, struct compact *from,
			uint32_t open)
{
	struct compact_slice slice;
	uint64_t begin_ns = 0;

	while (open-- && compact_open(from, &begin_ns, &slice))
		if (!sequence->begun)
			put_open(view, sequence, &slice);
	sequence->begun = true;
}

static void next_part(struct flight_view *view)
{
	struct view_sequence *sequence =
		&view->sequences[view->compact->sequence];
	uint32_t bytes;

	sequence->ns = view->from.ns;
	if (flight_cut_next(&view->compact->cut, &view->part, &bytes))
		view->from = (struct compact){ view->part->at,
					       view->part->at + bytes,
					       sequence->ns };
	else
		view->compact = NULL;
}

static void put_compact(struct flight_view *view)
{
	struct view_sequence *sequence =
		&view->sequences[view->compact->sequence];
	struct compact_event event = compact_next(&view->from);

	if (event.kind == COMPACT_IS_RESTART)
		put_restart(view, sequence, &view->from, event.open);
	else if (event.kind)
		compact_unpack_event(&sequence->unpack, view->from.ns, &event,
				     &view->packets);
	else
		next_part(view);
}

static void begin_compact(struct flight_view *view,
			  const struct view_segment *segment)
{
	view->compact = segment;
	view->part = NULL;
	view->from.ns = view->sequences[segment->sequence].ns;
	next_part(view);
}

/* Moves to the next segment in the view. Returns false at the end. */
static bool next_segment(struct flight_view *view)
{
	while (view->at_segment < view->segment_count) {
		const struct view_segment *segment =
			&view->segments[view->at_segment++];

		if (segment->sequence == UINT32_MAX ||
		    segment->first_ns >= view->to_ns)
			continue;
		if (view->sequences[segment->sequence].compact)
			begin_compact(view, segment);
		else
			put_cut(view, &segment->cut);
		return true;
	}
	return false;
}

/* Refills view->packets, possibly with nothing. Returns false at the end. */
static bool fill(struct flight_view *view)
{
	bytes_clear(&view->packets);
	view->at = 0;
	if (view->at_kept < view->sequence_count) {
		put_kept(view, &view->sequences[view->at_kept++]);
		return true;
	}
	if (!view->compact)
		return next_segment(view);
	put_compact(view);
	return true;
}

struct compact *flight_view_run(struct flight_view *view, uint32_t *sequence)
{
	if (view->at != view->packets.count || !view->compact)
		return NULL;
	*sequence = view->sequences[view->compact->sequence].id;
	return &view->from;
}

void flight_view_ran(struct flight_view *view)
{
	view->sequences[view->compact->sequence].unpack.encoder.last_ns =
		view->from.ns;
}

int flight_view_next(struct flight_view *view, struct wire *out)
{
	struct wire left;
	struct wire_field field;

	while (view->at == view->packets.count)
		if (!fill(view))
			return 0;
	if (view->packets.failed)
		return -ENOMEM;
	left = (struct wire){ .at = view->packets.at + view->at,
			      .end = view->packets.at + view->packets.count };
	if (!wire_next(&left, &field) || !field.bytes)
		return -ENOMEM;
	view->at = (size_t)(left.at - view->packets.at);
	*out = wire_of(&field);
	return 1;
}

/* --- life ---------------------------------------------------------------- */

int flight_view_new(struct flight_memory *memory, uint64_t from_ns,
		    uint64_t to_ns, struct flight_view **out)
{
	struct flight_view *view = calloc(1, sizeof(*view));

	if (!view)
		return -ENOMEM;
	view->memory = memory;
	view->from_ns = from_ns;
	view->to_ns = to_ns;
	note_all(view);
	for (uint32_t i = 0; i < view->sequence_count && !view->failed; i++)
		pass_over(view, &view->sequences[i]);
	if (view->failed) {
		flight_view_free(&view);
		return -ENOMEM;
	}
	if (view->segment_count)
		qsort(view->segments, view->segment_count,
		      sizeof(*view->segments), compare_times);
	*out = view;
	return 0;
}

uint64_t flight_view_first_ns(const struct flight_view *view)
{
	return view->first_ns;
}

void flight_view_free(struct flight_view **view)
{
	struct flight_view *old = *view;

	if (!old)
		return;
	lock_acquire(&old->memory->lock);
	for (uint32_t i = 0; i < old->segment_count; i++)
		flight_text_drop(old->segments[i].cut.text);
	for (uint32_t i = 0; i < old->sequence_count; i++)
		flight_text_drop(old->sequences[i].kept.text);
	lock_release(&old->memory->lock);
	for (uint32_t i = 0; i < old->sequence_count; i++) {
		flight_text_drop(old->sequences[i].more);
		flight_left_release(&old->sequences[i].left);
	}
	free(old->segments);
	free(old->sequences);
	bytes_release(&old->packets);
	free(old);
	*view = NULL;
}
