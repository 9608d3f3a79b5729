/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_jump - the reader first reads the copies in the index: descriptions and
 * names. Then the clock of each sequence is set to its last checkpoint before
 * the range. The reader reads the extents that have packets of a sequence
 * behind its checkpoint, and that are not behind the range.
 *
 * The index has only the names of open slices. If the packet of a slice has
 * more, such as arguments, trace_begin.h finds it in the trace.
 */
#include "collector/read/trace_jump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/base/grow.h"
#include "collector/read/trace_begin.h"
#include "collector/read/trace_read_inner.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* The place where reading of a sequence begins. */
struct start {
	const struct index_sequence *of;
	struct packet_place place;
	uint32_t checkpoint; /* place in checkpoints, if has_checkpoint */
	bool has_checkpoint;
	bool none; /* nothing of it is in the range */
	/* Skipped chunks, an exclusive range; equal: none. */
	uint32_t skip_from, skip_to;
	/* Packets from here on are skipped: chunks, or from to_ns on the
	 * rest. */
	struct packet_place stop;
	uint64_t stop_ns; /* open slices at stop go on until then; 0: no stop */
};

struct trace_jump {
	const char *path;
	const struct trace_index *index;
	uint64_t from_ns, to_ns;
	bool parted; /* it has a second part */
	bool resumed; /* the second part has begun */
	struct start *starts; /* by place in index->sequences */
	uint32_t *texts; /* numbers of the reader, by number of the index; 0:
			  * not looked up yet */
	struct file_stretch *stretches;
	uint32_t stretch_count, stretch_room;

	/* The next seed: slice "slice" of sequence "sequence". */
	uint32_t sequence, slice;
	bool has_stack; /* stack belongs to sequence */
	struct index_stack stack;
	struct bytes found; /* a packet from the trace */
};

void trace_jump_free(struct trace_jump **jump)
{
	struct trace_jump *freed = *jump;

	if (!freed)
		return;
	free((char *)freed->path);
	free(freed->starts);
	free(freed->texts);
	free(freed->stretches);
	free(freed->stack.slices);
	bytes_release(&freed->found);
	free(freed);
	*jump = NULL;
}

/* --- places to begin ----------------------------------------------------- */

static struct start start_of(const struct index_sequence *sequence,
			     uint64_t from_ns)
{
	uint32_t before = index_checkpoints_before(sequence, from_ns);
	struct start start = { .of = sequence };

	if (!sequence->checkpoint_count)
		return start;
	if (index_sequence_is_over(sequence, from_ns)) {
		start.none = true;
		return start;
	}
	/* If earlier packets of the index were lost, read from the start. */
	if (!before && sequence->chunks[0].number != 1)
		return start;
	start.checkpoint = before ? before - 1 : 0;
	start.has_checkpoint = true;
	start.place = sequence->checkpoints[start.checkpoint].place;
	return start;
}

static bool has_skipped(const struct start *start)
{
	return start->skip_from != start->skip_to;
}

static bool may_skip(const struct trace_jump *jump, const struct start *start,
		     uint32_t number)
{
	const struct index_sequence *sequence = start->of;
	const struct index_chunk *chunk = &sequence->chunks[number];
	bool last = number + 1 == sequence->chunk_count;

	/* The packets behind the chunk need a place to continue. */
	return chunk->whole && !chunk->rough &&
	       chunk->start_ns >= jump->from_ns &&
	       chunk->end_ns < jump->to_ns && (!last || sequence->ended);
}

/* Finds successive chunks of @start's sequence inside the range. @detailed:
 * blocks of cells cover exactly these chunks. */
static void choose_chunks(const struct trace_jump *jump, struct start *start,
			  bool detailed)
{
	const struct index_sequence *sequence = start->of;
	uint32_t at = 0, to;

	while (at < sequence->chunk_count &&
	       (!may_skip(jump, start, at) ||
		(detailed && !sequence->chunks[at].begins_cells)))
		at++;
	start->skip_from = to = at;
	while (at < sequence->chunk_count && may_skip(jump, start, at) &&
	       sequence->chunks[at].number ==
		       sequence->chunks[start->skip_from].number + at -
			       start->skip_from) {
		if (detailed && to == at && !sequence->chunks[at].begins_cells)
			break;
		at++;
		if (!detailed || sequence->chunks[at - 1].ends_cells)
			to = at;
	}
	start->skip_to = to;
	if (!has_skipped(start))
		return;
	at = sequence->chunks[start->skip_from].first_checkpoint;
	start->stop = sequence->checkpoints[at].place;
	start->stop_ns = sequence->chunks[start->skip_from].start_ns;
}

/* Returns the start of the sequence @id; NULL: not a sequence with calls in the
 * index. Tries *@next first, the usual place, and advances it. */
static struct start *find_start(const struct trace_jump *jump, uint32_t id,
				uint32_t *next)
{
	const struct trace_index *index = jump->index;
	const struct index_sequence *sequence = NULL;

	if (*next < index->sequence_count && index->sequences[*next].id == id)
		sequence = &index->sequences[*next];
	else
		sequence = trace_index_sequence(index, id);
	if (!sequence)
		return NULL;
	*next = (uint32_t)(sequence - index->sequences) + 1;
	return sequence->checkpoint_count ? &jump->starts[*next - 1] : NULL;
}

/* Returns true if @extent may have wanted packets of @start's sequence. If
 * @extent is behind the range, sets the stop of the sequence. */
static bool wants(const struct trace_jump *jump, struct start *start,
		  const struct index_extent *extent)
{
	if (start->none || start->place.offset >= extent->end ||
	    (start->stop_ns && extent->offset > start->stop.offset))
		return false;
	if (extent->first_ns < jump->to_ns)
		return true;
	if (!start->stop_ns) {
		start->stop = (struct packet_place){ .offset = extent->offset };
		start->stop_ns = jump->to_ns;
	}
	return false;
}

static bool needs_extent(const struct trace_jump *jump,
			 const struct index_extent *extent)
{
	struct index_get get = extent->sequences;
	bool needed = false;
	uint32_t next = 0;
	uint64_t id = 0;

	for (uint32_t i = 0; i < extent->sequence_count && !get.bad; i++) {
		struct start *start;

		id += index_get_number(&get);
		start = find_start(jump, (uint32_t)id, &next);
		if (start)
			needed |= wants(jump, start, extent);
	}
	return needed;
}

static int add_stretch(struct trace_jump *jump, uint64_t offset, uint64_t end)
{
	struct file_stretch *last =
		jump->stretch_count ? &jump->stretches[jump->stretch_count - 1]
				    : NULL;

	if (last && last->end == offset) {
		last->end = end;
		return 0;
	}
	if (grow_array(jump->stretches, jump->stretch_room,
		       jump->stretch_count + 1))
		return -ENOMEM;
	jump->stretches[jump->stretch_count++] =
		(struct file_stretch){ offset, end };
	return 0;
}

static int choose_stretches(struct trace_jump *jump)
{
	const struct trace_index *index = jump->index;
	uint64_t done = 0;
	int err = 0;

	for (uint32_t i = 0; i < index->extent_count && !err; i++) {
		const struct index_extent *extent = &index->extents[i];

		if (extent->end > index->trace_bytes)
			break;
		done = extent->end;
		if (needs_extent(jump, extent))
			err = add_stretch(jump, extent->offset, extent->end);
	}
	/* Packets behind the last extent may have any time. */
	return err ?: add_stretch(jump, done, UINT64_MAX);
}

/* --- copies in the index ------------------------------------------------- */

static uint32_t text_of(struct trace_reader *reader, uint32_t number)
{
	struct trace_jump *jump = reader->jump;
	const struct index_text *text = &jump->index->texts[number - 1];

	if (!jump->texts[number - 1])
		jump->texts[number - 1] = trace_texts_number(
			&reader->texts, text->at, text->count);
	return jump->texts[number - 1];
}

static void take_names(struct trace_reader *reader,
		       const struct index_sequence *from)
{
	struct sequence *sequence = trace_reader_sequence(reader, from->id);

	for (uint32_t i = 0; i < from->name_count && sequence; i++)
		if (trace_iids_set(&sequence->iids[IID_NAME], &reader->budget,
				   from->names[i].iid,
				   text_of(reader, from->names[i].text)) < 0)
			reader_refuse(reader);
}

static void take_packets(struct trace_reader *reader)
{
	const struct trace_index *index = reader->jump->index;

	for (uint32_t i = 0; i < index->packet_count; i++) {
		const struct index_packet *packet = &index->packets[i];
		struct wire bytes = { packet->at, packet->at + packet->count };
		struct sequence *sequence;

		if (packet->kind == INDEX_PACKET)
			trace_reader_take(reader, bytes);
		if (packet->kind != INDEX_INTERNED)
			continue;
		sequence = trace_reader_sequence(reader, packet->sequence);
		if (sequence)
			interned_take(reader, sequence, bytes);
	}
}

/* Sequences that set_clocks() does not set start at @offset. */
static void leave_out_others(struct trace_reader *reader, uint64_t offset)
{
	reader->indexed = offset;
	for (uint32_t i = 0; i < reader->sequences.ids.count; i++) {
		struct sequence *sequence = reader->sequences.items[i];

		sequence->start.offset = reader->indexed;
		sequence->waits = true;
	}
}

static void set_clocks(struct trace_reader *reader)
{
	struct trace_jump *jump = reader->jump;

	for (uint32_t i = 0; i < jump->index->sequence_count; i++) {
		struct start *start = &jump->starts[i];
		struct sequence *sequence =
			trace_reader_sequence(reader, start->of->id);

		if (sequence && start->none) {
			sequence->start.offset = UINT64_MAX;
			sequence->waits = true;
		} else if (sequence && start->of->checkpoint_count) {
			sequence->waits = false;
		}
		if (!sequence || !start->has_checkpoint)
			continue;
		sequence->clock_ns =
			start->of->checkpoints[start->checkpoint].ns;
		sequence->start = start->place;
		sequence->waits = true;
		sequence->stop = start->stop;
		sequence->stops = start->stop_ns;
		if (sequence->track)
			sequence->track->stop_ns = start->stop_ns;
	}
}

/* --- seeds --------------------------------------------------------------- */

/* Makes a TRACE_BEGIN event of slice @depth of the stack, from the index. */
static void plain_begin(struct trace_reader *reader,
			const struct index_sequence *from, uint32_t depth,
			struct sequence *sequence, struct trace_event *out)
{
	const struct index_slice *slice = &reader->jump->stack.slices[depth];
	/* The category and location of a site have the number of its name. */
	uint32_t iid = from->nodes[slice->node].iid;

	*out = (struct trace_event){
		.kind = TRACE_BEGIN,
		.ns = slice->begin_ns,
		.seed = true,
		.track = &sequence->track->shown,
		.name = trace_iids_get(&sequence->iids[IID_NAME], iid),
		.category = trace_iids_get(&sequence->iids[IID_CATEGORY], iid),
		.location = trace_iids_get(&sequence->iids[IID_LOCATION], iid),
	};
}

/* Finds the next open slice. Returns false at the end. */
static bool next_slice(struct trace_jump *jump)
{
	const struct trace_index *index = jump->index;

	for (; jump->sequence < index->sequence_count; jump->sequence++) {
		const struct start *start = &jump->starts[jump->sequence];

		if (!jump->has_stack && start->has_checkpoint)
			/* A damaged stack counts as empty. */
			trace_index_stack(start->of, start->checkpoint,
					  &jump->stack);
		jump->has_stack = true;
		if (jump->slice < jump->stack.count)
			return true;
		free(jump->stack.slices);
		jump->stack = (struct index_stack){ 0 };
		jump->has_stack = false;
		jump->slice = 0;
	}
	return false;
}

bool trace_jump_next(struct trace_reader *reader, struct trace_event *out)
{
	struct trace_jump *jump = reader->jump;

	while (next_slice(jump)) {
		const struct index_sequence *from =
			jump->starts[jump->sequence].of;
		uint32_t depth = jump->slice++;
		struct sequence *sequence =
			trace_reader_sequence(reader, from->id);
		bool found = false;

		if (!sequence || !sequence->track)
			continue;
		plain_begin(reader, from, depth, sequence, out);
		if (jump->stack.slices[depth].noted)
			found = trace_begin_find(
				jump->path, from,
				jump->stack.slices[depth].begin_ns, depth,
				&jump->found);
		if (found)
			trace_reader_take_begin(
				reader, sequence,
				(struct wire){ jump->found.at,
					       jump->found.at +
						       jump->found.count },
				out);
		return true;
	}
	reader->seeding = false;
	return false;
}

static int prepare(struct trace_reader *reader, enum jump_skips skips)
{
	struct trace_jump *jump = reader->jump;
	const struct trace_index *index = jump->index;
	uint64_t first_ns;
	int err;

	for (uint32_t i = 0; i < index->sequence_count; i++) {
		jump->starts[i] = start_of(&index->sequences[i], jump->from_ns);
		if (skips && jump->starts[i].has_checkpoint)
			choose_chunks(jump, &jump->starts[i],
				      skips == JUMP_SKIPS_DETAILED);
		jump->parted |= has_skipped(&jump->starts[i]);
	}
	err = choose_stretches(jump);
	if (err)
		return err;
	take_packets(reader);
	for (uint32_t i = 0; i < index->sequence_count; i++)
		take_names(reader, &index->sequences[i]);
	/* Sequences without calls are incomplete. */
	leave_out_others(reader, index->trace_bytes);
	set_clocks(reader);
	trace_index_times(index, &first_ns, &reader->totals.last_ns);
	trace_packets_only(reader->packets, jump->stretches,
			   jump->stretch_count);
	reader->seeding = true;
	return 0;
}

int trace_reader_jump(const char *path, const struct trace_index *index,
		      uint64_t from_ns, uint64_t to_ns, enum jump_skips skips,
		      struct trace_reader **out)
{
	struct trace_reader *reader;
	struct trace_jump *jump;
	int err = trace_reader_open(path, &reader);

	if (err)
		return err;
	err = -ENOMEM;
	jump = reader->jump = calloc(1, sizeof(*jump));
	if (jump) {
		*jump = (struct trace_jump){
			.path = strdup(path),
			.index = index,
			.from_ns = from_ns,
			.to_ns = to_ns,
			.starts = calloc(index->sequence_count + 1,
					 sizeof(*jump->starts)),
			.texts = calloc(index->text_count + 1,
					sizeof(*jump->texts)),
		};
		if (jump->path && jump->starts && jump->texts)
			err = prepare(reader, skips);
	}
	if (err)
		trace_reader_close(&reader);
	else
		*out = reader;
	return err;
}

/* --- the second part ----------------------------------------------------- */

/* Moves @start behind its skipped chunks. Returns false if nothing follows. */
static bool pass_chunks(struct trace_jump *jump, struct start *start,
			struct track *track)
{
	const struct index_chunk *next;

	start->none = true;
	start->has_checkpoint = false;
	if (!has_skipped(start) || start->skip_to == start->of->chunk_count)
		return false;
	next = &start->of->chunks[start->skip_to];
	if (next->start_ns >= jump->to_ns)
		return false;
	start->none = false;
	start->has_checkpoint = true;
	start->checkpoint = next->first_checkpoint;
	start->place = start->of->checkpoints[start->checkpoint].place;
	start->skip_from = start->skip_to = 0;
	start->stop_ns = 0;
	if (track)
		track->shown.from_ns = next->start_ns;
	return true;
}

/* Begins the second part, behind the chunks. */
static int begin_second(struct trace_reader *reader)
{
	struct trace_jump *jump = reader->jump;
	int err;

	jump->stretch_count = 0;
	err = choose_stretches(jump);
	if (err)
		return err;
	/* The first part had the other sequences. */
	leave_out_others(reader, UINT64_MAX);
	set_clocks(reader);
	trace_packets_only(reader->packets, jump->stretches,
			   jump->stretch_count);
	return 0;
}

bool trace_jump_goes_on(const struct trace_reader *reader)
{
	const struct trace_jump *jump = reader->jump;

	return jump && jump->parted && !jump->resumed;
}

int trace_reader_resume(struct trace_reader *reader)
{
	struct trace_jump *jump = reader->jump;
	bool more = false;
	int err;

	if (!trace_jump_goes_on(reader))
		return 0;
	jump->resumed = true;
	for (uint32_t i = 0; i < jump->index->sequence_count; i++) {
		struct start *start = &jump->starts[i];
		struct sequence *sequence =
			trace_reader_sequence(reader, start->of->id);
		struct track *track = sequence ? sequence->track : NULL;

		if (track)
			track->stop_ns = 0;
		if (sequence)
			sequence->stops = false;
		more |= pass_chunks(jump, start, track);
	}
	err = more ? begin_second(reader) : 0;
	if (err)
		return err;
	/* Slices open at the end of the trace end now. */
	jump->sequence = 0;
	trace_reader_restart(reader);
	return 1;
}

bool trace_reader_skipped(struct trace_reader *reader, uint32_t number,
			  struct skipped_chunks *out)
{
	const struct start *start = &reader->jump->starts[number];
	const struct sequence *sequence;

	if (!has_skipped(start))
		return false;
	sequence = trace_reader_sequence(reader, start->of->id);
	if (!sequence || !sequence->track)
		return false;
	*out = (struct skipped_chunks){ .sequence = start->of,
					.first = start->skip_from,
					.last = start->skip_to - 1,
					.track = &sequence->track->shown };
	return true;
}

uint32_t trace_reader_name(struct trace_reader *reader, uint32_t id,
			   uint32_t iid)
{
	static const char wait[] = INDEX_WAIT_NAME;
	const struct sequence *sequence = trace_reader_sequence(reader, id);

	if (!iid)
		return trace_texts_number(&reader->texts, (const uint8_t *)wait,
					  sizeof(wait) - 1);
	return sequence ? trace_iids_get(&sequence->iids[IID_NAME], iid) : 0;
}

bool trace_reader_is_site(struct trace_reader *reader, uint32_t id,
			  uint32_t iid)
{
	const struct sequence *sequence = trace_reader_sequence(reader, id);

	return sequence &&
	       (trace_iids_get(&sequence->iids[IID_CATEGORY], iid) ||
		trace_iids_get(&sequence->iids[IID_LOCATION], iid));
}
