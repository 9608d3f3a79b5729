/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_index - reads the file batch by batch, and lists its items. Small items
 * are copied and decoded later on request. Rows and cells are most of the file,
 * so only their places are kept.
 */
#include "collector/read/trace_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/file_at.h"
#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/output/kept_trace.h"
#include "collector/output/own_files.h"
#include "shared/compiler.h"

/* The index of a trace of a TB has less, so a larger file is damage. */
#define BYTES_MAX (UINT64_C(16) << 30)
/* Depth limit of a stack. perfrec draws 512. */
#define OPEN_MAX 1024u

/* --- the file ------------------------------------------------------------ */

static enum index_fault open_file(const char *path, struct trace_index *index)
{
	struct stat status;
	int err = 0;

	index->fd = own_files_open(path);
	if (index->fd < 0) {
		errno = -index->fd;
		return index->fd == -ENOENT ? INDEX_MISSING : INDEX_UNREADABLE;
	}
	if (fstat(index->fd, &status) < 0)
		err = -errno;
	else if ((uint64_t)status.st_size > BYTES_MAX)
		err = -EFBIG;
	else
		index->bytes = (uint64_t)status.st_size;
	errno = -err;
	return err ? INDEX_UNREADABLE : INDEX_FINE;
}

struct index_get index_load(const struct trace_index *index,
			    struct index_stretch stretch,
			    struct index_buffer *buffer)
{
	struct index_get get = { .bad = true };

	if (grow_array(buffer->at, buffer->room, (size_t)stretch.bytes + 1) ||
	    file_read_at(index->fd, buffer->at, stretch.bytes, stretch.offset))
		return get;
	return (struct index_get){ .at = buffer->at,
				   .end = buffer->at + stretch.bytes };
}

/* --- copies of items ---------------------------------------------------- */

#define KEPT_BYTES (128u << 10)

struct index_kept {
	struct index_kept *next;
	size_t used, room;
	uint8_t bytes[];
};

/* Copies the rest of @get, and points @get to the copy. Returns false without
 * memory. */
static bool keep(struct trace_index *index, struct index_get *get)
{
	size_t count = (size_t)(get->end - get->at);
	struct index_kept *kept = index->kept;

	if (!kept || kept->room - kept->used < count) {
		size_t room = MAX((size_t)KEPT_BYTES, count);

		kept = malloc(sizeof(*kept) + room);
		if (!kept)
			return false;
		kept->next = index->kept;
		kept->used = 0;
		kept->room = room;
		index->kept = kept;
	}
	if (count)
		memcpy(kept->bytes + kept->used, get->at, count);
	get->at = kept->bytes + kept->used;
	get->end = get->at + count;
	kept->used += count;
	return true;
}

static void free_kept(struct index_kept *kept)
{
	while (kept) {
		struct index_kept *next = kept->next;

		free(kept);
		kept = next;
	}
}

/* --- items --------------------------------------------------------------- */

static uint32_t sequence_place(const struct trace_index *index, uint32_t id)
{
	return search_first(i, index->sequence_count,
			    index->sequences[i].id >= id);
}

const struct index_sequence *trace_index_sequence(
	const struct trace_index *index, uint32_t id)
{
	uint32_t at = sequence_place(index, id);

	return at < index->sequence_count && index->sequences[at].id == id
		       ? &index->sequences[at]
		       : NULL;
}

/* Returns the sequence @id, and adds it if necessary. Returns NULL without
 * memory. */
static struct index_sequence *get_sequence(struct trace_index *index,
					   uint64_t id)
{
	uint32_t at = sequence_place(index, (uint32_t)id);

	if (id > UINT32_MAX)
		return NULL;
	if (at < index->sequence_count && index->sequences[at].id == id)
		return &index->sequences[at];
	if (grow_array(index->sequences, index->sequence_room,
		       index->sequence_count + 1))
		return NULL;
	memmove(index->sequences + at + 1, index->sequences + at,
		(index->sequence_count - at) * sizeof(*index->sequences));
	index->sequences[at] = (struct index_sequence){ .id = (uint32_t)id };
	index->sequence_count++;
	return &index->sequences[at];
}

static bool take_text(struct trace_index *index, struct index_get *get)
{
	if (grow_array(index->texts, index->text_room, index->text_count + 1) ||
	    !keep(index, get))
		return false;
	index->texts[index->text_count++] = (struct index_text){
		.at = get->at,
		.count = (size_t)(get->end - get->at),
	};
	return true;
}

static bool take_name(struct trace_index *index, struct index_get *get)
{
	struct index_sequence *sequence =
		get_sequence(index, index_get_number(get));
	uint64_t iid = index_get_number(get), text = index_get_number(get);

	if (get->bad || !sequence || iid > UINT32_MAX || !text ||
	    text > index->text_count ||
	    grow_array(sequence->names, sequence->name_room,
		       sequence->name_count + 1))
		return false;
	sequence->names[sequence->name_count++] =
		(struct index_name){ (uint32_t)iid, (uint32_t)text };
	return true;
}

static bool take_packet(struct trace_index *index, uint32_t kind,
			struct index_get *get)
{
	uint64_t sequence = index_get_number(get);

	if (get->bad || sequence > UINT32_MAX ||
	    grow_array(index->packets, index->packet_room,
		       index->packet_count + 1) ||
	    !keep(index, get))
		return false;
	index->packets[index->packet_count++] = (struct index_packet){
		.kind = kind,
		.sequence = (uint32_t)sequence,
		.at = get->at,
		.count = (size_t)(get->end - get->at),
	};
	return true;
}

static bool take_later(struct trace_index *index, struct index_packet item,
		       struct index_get *get)
{
	if (grow_array(index->packets, index->packet_room,
		       index->packet_count + 1) ||
	    !keep(index, get))
		return false;
	item.at = get->at;
	item.count = (size_t)(get->end - get->at);
	index->packets[index->packet_count++] = item;
	return true;
}

static bool take_node(struct index_sequence *sequence, struct index_get *get)
{
	uint64_t number = index_get_number(get);
	uint64_t parent = index_get_number(get);
	uint64_t iid = index_get_number(get);

	/* Numbers start at 1 and follow the order of the file. So the list is
	 * no larger than the part of the file that was read. */
	if (get->bad || !number || number > MAX(sequence->node_count, 1u) ||
	    number > UINT32_MAX - 1 || parent > UINT32_MAX ||
	    iid > UINT32_MAX ||
	    grow_array_zeroed(sequence->nodes, sequence->node_room, number + 1))
		return false;
	sequence->node_count = MAX(sequence->node_count, (uint32_t)number + 1);
	sequence->nodes[number] =
		(struct index_node){ (uint32_t)parent, (uint32_t)iid };
	return true;
}

static bool open_chunk(struct index_sequence *sequence, uint64_t number,
		       uint64_t ns)
{
	struct index_chunk *last =
		sequence->chunk_count
			? &sequence->chunks[sequence->chunk_count - 1]
			: NULL;

	if (last && last->number == number && !last->whole)
		return true;
	if (grow_array(sequence->chunks, sequence->chunk_room,
		       sequence->chunk_count + 1) ||
	    !sequence->chunks)
		return false;
	sequence->chunks[sequence->chunk_count++] = (struct index_chunk){
		.number = number,
		.first_checkpoint = sequence->checkpoint_count,
		.start_ns = ns,
	};
	return true;
}

static bool take_checkpoint(struct trace_index *index,
			    struct index_sequence *sequence,
			    struct packet_place place, struct index_get *get)
{
	uint64_t ns = index_get_number(get), chunk = index_get_number(get);

	/* The chunk is added last, so that each chunk has its first
	 * checkpoint. */
	if (get->bad ||
	    grow_array(sequence->checkpoints, sequence->checkpoint_room,
		       sequence->checkpoint_count + 1) ||
	    !keep(index, get) || !open_chunk(sequence, chunk, ns))
		return false;
	sequence->checkpoints[sequence->checkpoint_count++] =
		(struct index_checkpoint){ .place = place,
					   .ns = ns,
					   .chunk = sequence->chunk_count - 1,
					   .open = *get };
	return true;
}

/* The subject of the items of a batch. */
struct about {
	struct index_sequence *sequence; /* NULL: no INDEX_BLOCK yet */
	struct packet_place place;
	struct index_extent extent; /* the next extent; incomplete */
	const uint8_t *items; /* of the batch, at @offset of the file */
	uint64_t offset;
};

static struct index_stretch stretch_of(const struct about *about,
				       const struct index_get *get)
{
	return (struct index_stretch){
		.offset = about->offset + (uint64_t)(get->at - about->items),
		.bytes = (uint32_t)(get->end - get->at),
	};
}

static bool take_chunk(const struct about *about, struct index_get *get)
{
	struct index_sequence *sequence = about->sequence;
	struct index_chunk *chunk =
		sequence->chunk_count
			? &sequence->chunks[sequence->chunk_count - 1]
			: NULL;
	uint64_t number = index_get_number(get), flags = index_get_number(get);
	uint64_t start_ns = index_get_number(get);

	if (get->bad)
		return false;
	/* Its checkpoint was lost; the reader uses the trace. */
	if (!chunk || chunk->number != number || chunk->whole ||
	    chunk->start_ns != start_ns)
		return true;
	chunk->end_ns = index_get_number(get);
	chunk->spans = index_get_number(get);
	chunk->lost = index_get_number(get);
	chunk->paused = index_get_number(get);
	chunk->row_count = index_get_number(get);
	chunk->rows = stretch_of(about, get);
	chunk->rough = flags & INDEX_CHUNK_ROUGH;
	chunk->whole = !get->bad && chunk->end_ns >= start_ns;
	return !get->bad;
}

/* Marks the chunks of @sequence where the cells of @block, of level 0, start
 * and end. The item of a block follows that of its last chunk. */
static void mark_chunks(struct index_sequence *sequence,
			const struct index_block *block)
{
	uint64_t before = block->last_chunk - block->first_chunk, at;

	if (!sequence->chunk_count)
		return;
	at = sequence->chunk_count - 1;
	if (sequence->chunks[at].number != block->last_chunk && at &&
	    sequence->chunks[at - 1].number == block->last_chunk)
		at--;
	if (before > at || sequence->chunks[at].number != block->last_chunk ||
	    sequence->chunks[at - before].number != block->first_chunk)
		return;
	sequence->chunks[at - before].begins_cells = true;
	sequence->chunks[at].ends_cells = true;
}

static bool take_cells(const struct about *about, struct index_get *get)
{
	struct index_sequence *sequence = about->sequence;
	uint64_t level = index_get_number(get), shift;
	struct index_block block = { .level = (unsigned int)level };

	block.first_chunk = index_get_number(get);
	block.last_chunk = block.first_chunk + index_get_number(get);
	block.start_ns = index_get_number(get);
	block.end_ns = block.start_ns + index_get_number(get);
	index_get_number(get); /* spans */
	block.beyond_calls = index_get_number(get);
	index_get_number(get); /* time of these calls */
	shift = index_get_number(get);
	/* An unknown level is not damage. */
	if (!get->bad && level >= INDEX_CELL_LEVELS)
		return true;
	if (get->bad || shift > INDEX_CELL_SHIFT_MAX ||
	    block.last_chunk < block.first_chunk ||
	    block.end_ns < block.start_ns ||
	    grow_array(sequence->blocks, sequence->block_room,
		       sequence->block_count + 1))
		return false;
	block.shift = (unsigned int)shift;
	block.cells = stretch_of(about, get);
	sequence->blocks[sequence->block_count++] = block;
	if (!block.level)
		mark_chunks(sequence, &block);
	return true;
}

static bool take_times(struct index_extent *extent, struct index_get *get)
{
	uint64_t first_ns = index_get_number(get);
	uint64_t last_ns = first_ns + index_get_number(get);

	if (get->bad || last_ns < first_ns)
		return false;
	if (!extent->absolute_last_ns || first_ns < extent->absolute_first_ns)
		extent->absolute_first_ns = first_ns;
	extent->absolute_last_ns = MAX(extent->absolute_last_ns, last_ns);
	return true;
}

static bool take_rest(struct index_rest *rest, struct index_get *get)
{
	uint64_t flags = index_get_number(get);

	rest->first_ns = index_get_number(get);
	rest->last_ns = rest->first_ns + index_get_number(get);
	rest->last_event_ns = index_get_number(get);
	rest->told = !(flags & INDEX_REST_LOST);
	return !get->bad && rest->last_ns >= rest->first_ns;
}

static bool take_extent(struct trace_index *index, struct about *about,
			struct index_get *get)
{
	struct index_extent extent = about->extent;
	uint64_t before = 0, count;

	about->extent = (struct index_extent){ 0 };
	extent.offset = index_get_number(get);
	extent.packet_end = index->packet_count;
	index->has_rest &= extent.rest.told;

	if (index->extent_count)
		before = index->extents[index->extent_count - 1].end;
	extent.end = extent.offset + index_get_number(get);
	extent.first_ns = index_get_number(get);
	extent.last_ns = extent.first_ns + index_get_number(get);
	extent.sched_first_ns = index_get_number(get);
	extent.sched_last_ns = extent.sched_first_ns + index_get_number(get);
	extent.untimed = index_get_number(get);
	count = index_get_number(get);
	if (get->bad || !keep(index, get) || extent.offset != before ||
	    extent.end <= extent.offset || count > UINT32_MAX ||
	    extent.last_ns < extent.first_ns ||
	    grow_array(index->extents, index->extent_room,
		       index->extent_count + 1))
		return false;
	extent.sequences = *get;
	for (uint64_t i = 0; i < count && !get->bad; i++)
		index_get_number(get);
	extent.sequence_count = (uint32_t)count;
	if (!get->bad)
		index->extents[index->extent_count++] = extent;
	return !get->bad;
}

static bool take_block(struct trace_index *index, struct about *about,
		       struct index_get *get)
{
	uint64_t id = index_get_number(get);

	about->place.offset = index_get_number(get);
	about->place.inner = index_get_number(get);
	about->sequence = get->bad ? NULL : get_sequence(index, id);
	return about->sequence != NULL;
}

static bool take_curve(struct trace_index *index, const struct about *about,
		       uint32_t kind, struct index_get *get)
{
	struct index_curve_item item = { .kind = kind };
	struct index_get rest = *get;
	bool apart = index_get_number(&rest) & 1;

	if (rest.bad || (!apart && !about->sequence))
		return false;
	if (kind == INDEX_CURVES_END && apart)
		index->curves_end = true;
	else if (kind == INDEX_CURVES_END)
		about->sequence->curves_end = true;
	if (kind == INDEX_CURVES_END)
		return true;
	if (!apart)
		item.sequence = about->sequence->id;
	if (grow_array(index->curves, index->curve_room,
		       index->curve_count + 1) ||
	    !keep(index, get))
		return false;
	item.get = *get;
	index->curves[index->curve_count++] = item;
	return true;
}

/* Returns false if the item is damaged, or without memory. */
static bool take_item(struct trace_index *index, struct about *about,
		      uint32_t kind, struct index_get *get)
{
	switch (kind) {
	case INDEX_TEXT:
		return take_text(index, get);
	case INDEX_IID:
		/* Adding a sequence may move the others. */
		about->sequence = NULL;
		return take_name(index, get);
	case INDEX_PACKET:
	case INDEX_INTERNED:
		return take_packet(index, kind, get);
	case INDEX_TRACK:
	case INDEX_SWITCHES:
		return take_later(index, (struct index_packet){ .kind = kind },
				  get);
	case INDEX_REST:
		return take_rest(&about->extent.rest, get);
	case INDEX_BLOCK:
		return take_block(index, about, get);
	case INDEX_EXTENT:
		return take_extent(index, about, get);
	case INDEX_END:
		index->whole = true;
		return true;
	case INDEX_COUNTER:
	case INDEX_CURVE:
	case INDEX_CURVES_END:
		return take_curve(index, about, kind, get);
	}
	if (kind != INDEX_NODE && kind != INDEX_CHECKPOINT &&
	    kind != INDEX_CHUNK && kind != INDEX_CELLS &&
	    kind != INDEX_SEQUENCE_END && kind != INDEX_VALUE &&
	    kind != INDEX_TIMES)
		return true;
	if (!about->sequence)
		return false;
	switch (kind) {
	case INDEX_NODE:
		return take_node(about->sequence, get);
	case INDEX_CHECKPOINT:
		return take_checkpoint(index, about->sequence, about->place,
				       get);
	case INDEX_CHUNK:
		return take_chunk(about, get);
	case INDEX_CELLS:
		return take_cells(about, get);
	case INDEX_TIMES:
		return take_times(&about->extent, get);
	case INDEX_VALUE:
		return take_later(
			index,
			(struct index_packet){ .kind = kind,
					       .sequence = about->sequence->id,
					       .place = about->place },
			get);
	default:
		about->sequence->ended = true;
		return true;
	}
}

static bool take_items(struct trace_index *index, const uint8_t *at,
		       size_t bytes, uint64_t offset)
{
	struct index_get items = { .at = at, .end = at + bytes }, payload;
	struct about about = { .items = at, .offset = offset };
	uint32_t kind;

	while ((kind = index_get_item(&items, &payload)))
		if (!take_item(index, &about, kind, &payload))
			return false;
	return !items.bad;
}

/* --- batches ------------------------------------------------------------- */

struct found_batch {
	struct index_batch batch;
	uint8_t head[INDEX_BATCH_BYTES];
	struct index_buffer items;
};

static bool find_batch(const struct trace_index *index, uint64_t at,
		       uint64_t number, struct found_batch *out)
{
	if (index->bytes - at < INDEX_BATCH_BYTES ||
	    file_read_at(index->fd, out->head, INDEX_BATCH_BYTES, at))
		return false;
	index_get_batch(out->head, &out->batch);
	return out->batch.number == number &&
	       out->batch.bytes <= INDEX_BATCH_ITEMS_MAX &&
	       out->batch.bytes <= index->bytes - at - INDEX_BATCH_BYTES;
}

static bool take_batch(struct trace_index *index, uint64_t at,
		       struct found_batch *found)
{
	const struct index_stretch items = { at + INDEX_BATCH_BYTES,
					     found->batch.bytes };
	struct index_get get = index_load(index, items, &found->items);

	return !get.bad &&
	       index_check_batch(found->head, &found->batch, get.at) &&
	       take_items(index, get.at, items.bytes, items.offset);
}

/* Returns true if the trace has the last bytes that @batch describes. */
static bool fits_trace(const struct index_batch *batch,
		       const struct kept_trace *trace)
{
	uint64_t bytes = batch->trace_bytes;
	uint8_t tail[INDEX_TAIL_BYTES];
	size_t count = MIN(bytes, (uint64_t)sizeof(tail));

	for (size_t at = 0; at < count;) {
		ssize_t got = kept_trace_read(trace, tail + at, count - at,
					      bytes - count + at);

		if (got <= 0)
			return false;
		at += (size_t)got;
	}
	return index_crc(tail, count) == batch->tail_crc;
}

/*
 * Reads all undamaged batches that describe existing parts of @trace. Only the
 * last batch is compared with the trace: written parts of a trace never change,
 * and 5,000 reads of a cold file take half a second.
 */
static enum index_fault take_batches(struct trace_index *index,
				     const struct kept_trace *trace)
{
	uint64_t trace_bytes = trace->bytes;
	struct found_batch found = { .items = { 0 } };
	uint64_t at = INDEX_HEADER_BYTES, number = 0;
	struct index_batch last = { 0 };
	bool later = false;

	while (find_batch(index, at, number, &found) &&
	       found.batch.trace_bytes >= index->trace_bytes) {
		later = found.batch.trace_bytes > trace_bytes;
		if (later || !take_batch(index, at, &found))
			break;
		index->trace_bytes = found.batch.trace_bytes;
		at += INDEX_BATCH_BYTES + found.batch.bytes;
		last = found.batch;
		number++;
	}
	free(found.items.at);
	if (!number)
		return later ? INDEX_FOREIGN : INDEX_DAMAGED;
	return fits_trace(&last, trace) ? INDEX_FINE : INDEX_FOREIGN;
}

static enum index_fault take_file(struct trace_index *index,
				  const struct kept_trace *trace)
{
	uint8_t head[INDEX_HEADER_BYTES] = INDEX_MAGIC;
	uint8_t begin[INDEX_HEADER_BYTES];

	if (index->bytes < INDEX_HEADER_BYTES ||
	    file_read_at(index->fd, begin, sizeof(begin), 0) ||
	    memcmp(begin, head, sizeof(INDEX_MAGIC) - 1) != 0)
		return INDEX_DAMAGED;
	head[sizeof(INDEX_MAGIC) - 1] = INDEX_VERSION;
	if (memcmp(begin, head, sizeof(head)) != 0)
		return INDEX_LATER;
	return take_batches(index, trace);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct index_block *x = a, *y = b;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return x->first_chunk < y->first_chunk
		       ? -1
		       : x->first_chunk > y->first_chunk;
}

static void sort_blocks(struct index_sequence *sequence)
{
	uint32_t kept = 0;

	if (!sequence->block_count)
		return;
	qsort(sequence->blocks, sequence->block_count,
	      sizeof(*sequence->blocks), compare_blocks);
	for (uint32_t i = 1; i < sequence->block_count; i++)
		if (compare_blocks(&sequence->blocks[kept],
				   &sequence->blocks[i]))
			sequence->blocks[++kept] = sequence->blocks[i];
	sequence->block_count = kept + 1;
}

enum index_fault trace_index_read(const char *path, const char *trace_path,
				  struct trace_index **out)
{
	struct trace_index *index = calloc(1, sizeof(*index));
	struct kept_trace trace;
	enum index_fault fault;
	int err;

	errno = ENOMEM;
	if (!index)
		return INDEX_UNREADABLE;
	index->fd = -1;
	index->has_rest = true;
	fault = open_file(path, index);
	err = fault ? 0 : kept_trace_open(trace_path, &trace);
	if (err) {
		fault = INDEX_UNREADABLE;
		errno = -err;
	} else if (!fault) {
		fault = take_file(index, &trace);
		kept_trace_close(&trace);
		for (uint32_t i = 0; i < index->sequence_count; i++)
			sort_blocks(&index->sequences[i]);
	}
	if (fault)
		trace_index_free(&index);
	else
		*out = index;
	return fault;
}

enum index_fault trace_index_read_beside(const char *trace_path,
					 struct trace_index **out)
{
	static const char ending[] = ".pftrace";
	size_t length = strlen(trace_path), cut = sizeof(ending) - 1;
	enum index_fault fault;
	char *path;

	if (length < cut || strcmp(trace_path + length - cut, ending) != 0)
		return INDEX_MISSING;
	errno = ENOMEM;
	if (asprintf(&path, "%.*s.index", (int)(length - cut), trace_path) < 0)
		return INDEX_UNREADABLE;
	fault = trace_index_read(path, trace_path, out);
	free(path);
	return fault;
}

void trace_index_free(struct trace_index **index)
{
	struct trace_index *freed = *index;

	if (!freed)
		return;
	for (uint32_t i = 0; i < freed->sequence_count; i++) {
		free(freed->sequences[i].checkpoints);
		free(freed->sequences[i].chunks);
		free(freed->sequences[i].blocks);
		free(freed->sequences[i].nodes);
		free(freed->sequences[i].names);
	}
	free(freed->sequences);
	free(freed->texts);
	free(freed->packets);
	free(freed->curves);
	free(freed->extents);
	free_kept(freed->kept);
	if (freed->fd >= 0)
		close(freed->fd);
	free(freed);
	*index = NULL;
}

/* --- decoding of items -------------------------------------------------- */

void trace_index_times(const struct trace_index *index, uint64_t *first_ns,
		       uint64_t *last_ns)
{
	*first_ns = *last_ns = 0;
	for (uint32_t i = 0; i < index->extent_count; i++) {
		const struct index_extent *extent = &index->extents[i];

		if (!extent->last_ns)
			continue;
		if (!*first_ns || extent->first_ns < *first_ns)
			*first_ns = extent->first_ns;
		*last_ns = MAX(*last_ns, extent->last_ns);
	}
}

uint32_t index_checkpoints_before(const struct index_sequence *sequence,
				  uint64_t ns)
{
	return search_first(i, sequence->checkpoint_count,
			    sequence->checkpoints[i].ns >= ns);
}

bool index_sequence_is_over(const struct index_sequence *sequence, uint64_t ns)
{
	const struct index_chunk *last =
		&sequence->chunks[sequence->chunk_count - 1];

	return sequence->ended && last->whole && last->end_ns < ns;
}

static int follow_checkpoint(const struct index_sequence *sequence,
			     const struct index_checkpoint *checkpoint,
			     struct index_stack *stack)
{
	struct index_get get = checkpoint->open;
	uint64_t kept = index_get_number(&get), more = index_get_number(&get);
	uint64_t begin_ns;

	if (get.bad || kept > stack->count || more > OPEN_MAX - kept)
		return -EBADMSG;
	if (grow_array(stack->slices, stack->room, kept + more))
		return -ENOMEM;
	begin_ns = kept ? stack->slices[kept - 1].begin_ns : 0;
	stack->count = (uint32_t)(kept + more);
	for (uint64_t i = kept; i < kept + more; i++) {
		uint64_t node = index_get_number(&get);

		begin_ns += index_get_number(&get);
		if (get.bad || node >> 1 >= sequence->node_count)
			return -EBADMSG;
		stack->slices[i] = (struct index_slice){ (uint32_t)(node >> 1),
							 node & 1, begin_ns };
	}
	return 0;
}

int trace_index_stack(const struct index_sequence *sequence, uint32_t number,
		      struct index_stack *out)
{
	uint32_t chunk = sequence->checkpoints[number].chunk;
	uint32_t at = sequence->chunks[chunk].first_checkpoint;
	int err = 0;

	*out = (struct index_stack){ 0 };
	for (; at <= number && !err; at++)
		err = follow_checkpoint(sequence, &sequence->checkpoints[at],
					out);
	if (err) {
		free(out->slices);
		*out = (struct index_stack){ 0 };
	}
	return err;
}

int index_chunk_stack(const struct index_sequence *sequence, uint32_t number,
		      struct index_stack *out)
{
	int err;

	*out = (struct index_stack){ 0 };
	if (number == sequence->chunk_count)
		return 0;
	err = trace_index_stack(sequence,
				sequence->chunks[number].first_checkpoint, out);
	return err == -ENOMEM ? err : 0;
}

bool index_row_next(const struct index_sequence *sequence,
		    struct index_get *rows, int64_t *node,
		    struct index_row *out)
{
	if (rows->at == rows->end)
		return false;
	__builtin_add_overflow(*node, index_unzigzag(index_get_number(rows)),
			       node);
	out->calls = index_get_number(rows);
	out->total_ns = index_get_number(rows);
	out->longest_ns = index_get_number(rows);
	if (*node < 0 || *node >= sequence->node_count)
		rows->bad = true;
	out->node = (uint32_t)*node;
	return !rows->bad;
}

uint32_t index_node_path(const struct index_sequence *sequence, uint32_t number,
			 const uint32_t *known, uint32_t path[INDEX_PATH_MOST],
			 uint32_t *top)
{
	uint32_t depth = 0;

	while (number && !known[number]) {
		if (depth + 1 == INDEX_PATH_MOST ||
		    sequence->nodes[number].parent >= sequence->node_count)
			return INDEX_PATH_MOST;
		path[depth++] = number;
		number = sequence->nodes[number].parent;
	}
	*top = number;
	return depth;
}
