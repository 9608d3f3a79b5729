/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_index - trace.index in memory (docs/INDEX.md): where the packets of
 * each sequence lie, what a reader must know to begin there, and where the sums
 * of chunks and the levels of detail stand: these, most of the file, stay there
 * until somebody asks. The file may come from anywhere: all of it is checked,
 * and what does not fit the trace is not used. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_INDEX_H
#define PERFREC_COLLECTOR_READ_TRACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/index/index_cells.h"
#include "collector/index/index_items.h"
#include "collector/read/trace_packets.h"

/* A part of the file, for index_load(). */
struct index_stretch {
	uint64_t offset;
	uint32_t bytes;
};

struct index_text {
	const uint8_t *at;
	size_t count;
};

struct index_name {
	uint32_t iid, text; /* text: number, from 1 on */
};

struct index_node {
	uint32_t parent; /* 0: the root */
	uint32_t iid; /* of its name; 0: INDEX_WAIT_NAME */
};

struct index_checkpoint {
	struct packet_place place;
	uint64_t ns; /* of the last event before */
	uint32_t chunk; /* number in chunks of the sequence */
	struct index_get open; /* what follows in the item */
};

struct index_chunk {
	uint64_t number; /* one that is missing was lost */
	uint32_t first_checkpoint; /* number in checkpoints */
	bool whole; /* it has ended, and the rest is known */
	bool rough; /* rows are not to be relied on */
	/* A block of cells of level 0 that is known begins, or ends, with it.
	 */
	bool begins_cells, ends_cells;
	uint64_t start_ns, end_ns; /* the last event before, and its last */
	uint64_t spans; /* about */
	uint64_t lost, paused; /* calls that marks in it tell of */
	uint64_t row_count;
	struct index_stretch rows; /* for index_row_next() */
};

/* A block of a level of detail (INDEX_CELLS). */
struct index_block {
	unsigned int level, shift;
	uint64_t first_chunk, last_chunk; /* numbers */
	uint64_t start_ns, end_ns; /* the last event before, and its last */
	uint64_t beyond_calls; /* in rows that are left out */
	struct index_stretch cells; /* for index_cell_take() */
};

struct index_sequence {
	uint32_t id;
	bool ended; /* nothing follows its last chunk */
	bool curves_end; /* curves have all its values */
	struct index_checkpoint *checkpoints;
	uint32_t checkpoint_count, checkpoint_room;
	struct index_chunk *chunks;
	uint32_t chunk_count, chunk_room;
	struct index_block *blocks; /* by level, then by first chunk, of which
				     * none is that of two of a level */
	uint32_t block_count, block_room;
	struct index_node *nodes; /* by number; [0]: the root */
	uint32_t node_count, node_room;
	struct index_name *names;
	uint32_t name_count, name_room;
};

/* INDEX_PACKET, INDEX_INTERNED, INDEX_VALUE, INDEX_TRACK or INDEX_SWITCHES. */
struct index_packet {
	uint32_t kind;
	uint32_t sequence; /* of the first three */
	struct packet_place place; /* INDEX_VALUE: of the block */
	const uint8_t *at; /* what follows in the item */
	size_t count;
};

/* INDEX_COUNTER or INDEX_CURVE. */
struct index_curve_item {
	uint32_t kind;
	uint32_t sequence; /* 0: those that are apart */
	struct index_get get; /* what is in it */
};

struct index_extent {
	uint64_t offset, end;
	uint64_t first_ns, last_ns; /* of events; 0, 0: none has a time */
	uint64_t sched_first_ns, sched_last_ns; /* of switches of threads */
	bool untimed; /* there are events whose time is not known */
	struct index_get sequences; /* of threads; varints: differences */
	uint32_t sequence_count;
	uint32_t packet_end; /* in packets: those of it are the ones between
			      * this and the end of the extent before it */
	/* Of threads' events with an absolute time; 0, 0: none. */
	uint64_t absolute_first_ns, absolute_last_ns;
	struct index_rest { /* INDEX_REST */
		bool told; /* what follows is known */
		uint64_t first_ns, last_ns; /* 0, 0: none has a time */
		uint64_t last_event_ns; /* but for waits */
	} rest;
};

struct trace_index {
	int fd; /* the file */
	uint64_t bytes; /* of it */
	struct index_kept *kept; /* what was taken out of it */
	uint64_t trace_bytes; /* what of the trace it is about */
	bool whole; /* the recording had ended when it was written */
	bool has_rest; /* all extents have, and nothing of it was lost */
	struct index_text *texts; /* number N is item N - 1 */
	uint32_t text_count, text_room;
	struct index_sequence *sequences; /* by id */
	uint32_t sequence_count, sequence_room;
	struct index_packet *packets; /* in the order of the file */
	uint32_t packet_count, packet_room;
	struct index_curve_item *curves; /* the same */
	uint32_t curve_count, curve_room;
	bool curves_end; /* they have all values that are apart */
	struct index_extent *extents; /* the same */
	uint32_t extent_count, extent_room;
};

/* Why there is no index. */
enum index_fault {
	INDEX_FINE,
	INDEX_MISSING, /* there is no file */
	INDEX_FOREIGN, /* it is of another trace */
	INDEX_LATER, /* a later perfrec made it */
	INDEX_DAMAGED, /* it is none, or broken from its begin on */
	INDEX_UNREADABLE, /* the file cannot be read: errno */
};

/*
 * Reads the index at @path of the trace at @trace_path. What is damaged, and
 * all behind it, is left out. INDEX_FINE: the caller owns *@out and ends it by
 * trace_index_free(); else *@out is as it was. Logs nothing.
 */
enum index_fault trace_index_read(const char *path, const char *trace_path,
				  struct trace_index **out);
/* How many bytes of the trace @index tells of; NULL: none. */
static inline uint64_t trace_index_told(const struct trace_index *index)
{
	return index ? index->trace_bytes : 0;
}

/* The same for the index that lies beside the trace at @trace_path, if that is
 * called "SOMETHING.pftrace": "SOMETHING.index". */
enum index_fault trace_index_read_beside(const char *trace_path,
					 struct trace_index **out);
/* Frees *@index, which may be NULL, and clears it. */
void trace_index_free(struct trace_index **index);

/* Bytes that were read. All zero: none. */
struct index_buffer {
	uint8_t *at;
	size_t room;
};

/* Reads @stretch of the file of @index into @buffer, which the caller has for
 * one after another and frees at the end. Returns its bytes; none, and bad:
 * they are not there any more, or there is no memory. */
struct index_get index_load(const struct trace_index *index,
			    struct index_stretch stretch,
			    struct index_buffer *buffer);

/* The sequence @id; NULL: the index has none. */
const struct index_sequence *trace_index_sequence(
	const struct trace_index *index, uint32_t id);

/* Sets *@first_ns and *@last_ns to the first and the last time that an extent
 * of @index tells of; 0, 0: none does. */
void trace_index_times(const struct trace_index *index, uint64_t *first_ns,
		       uint64_t *last_ns);

/* How many checkpoints of @sequence are before @ns: all events before them are.
 */
uint32_t index_checkpoints_before(const struct index_sequence *sequence,
				  uint64_t ns);
/* Whether all of @sequence, which has chunks, is in these, and before @ns. */
bool index_sequence_is_over(const struct index_sequence *sequence, uint64_t ns);

/* A slice that is open at a checkpoint. */
struct index_slice {
	uint32_t node; /* number; always one of the sequence */
	bool noted; /* its begin has more than a name */
	uint64_t begin_ns;
};

/* Slices that are open at a moment, outermost first. All zero: none. */
struct index_stack {
	struct index_slice *slices;
	uint32_t count, room;
};

/* Sets @out to what is open at checkpoint @number of @sequence. 0; -ENOMEM; or
 * -EBADMSG: the items make no sense. The caller frees out->slices. */
int trace_index_stack(const struct index_sequence *sequence, uint32_t number,
		      struct index_stack *out);
/* The same of what is open where chunk @number begins: nothing behind the last
 * chunk, with which the sequence has ended, or if the items make no sense. 0 or
 * -ENOMEM. */
int index_chunk_stack(const struct index_sequence *sequence, uint32_t number,
		      struct index_stack *out);

/* What a chunk has of one node. */
struct index_row {
	uint32_t node; /* always one of the sequence */
	uint64_t calls, total_ns, longest_ns;
};

/* Takes the next row off @rows, those of a chunk of @sequence, the node of
 * which is to be kept in @node, at first 0. False: there are no more,
 * or what is left makes no sense (rows->bad). */
bool index_row_next(const struct index_sequence *sequence,
		    struct index_get *rows, int64_t *node,
		    struct index_row *out);

#define INDEX_PATH_MOST 1024u

/* Lists node @number of @sequence and its callers, the innermost first, up to
 * one of which @known, by number, is not 0. Returns how many there are, and
 * sets *@top to that one, or 0: the root. INDEX_PATH_MOST: they make no sense.
 */
uint32_t index_node_path(const struct index_sequence *sequence, uint32_t number,
			 const uint32_t *known, uint32_t path[INDEX_PATH_MOST],
			 uint32_t *top);

/* Whether @extent has packets of @sequence. */
bool index_extent_has(const struct index_extent *extent, uint32_t sequence);

#endif
