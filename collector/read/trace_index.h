/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_index - trace.index in memory (docs/TRACE.md): where the packets of
 * each sequence lie, the state for a reader that begins there, and where the
 * file has sums of chunks and levels of detail. These are most of the file, and
 * are loaded on request. The file may be hostile: all of it is checked, and an
 * index that does not fit the trace is rejected. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_INDEX_H
#define PERFREC_COLLECTOR_READ_TRACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/trace_packets.h"
#include "collector/trace/index_cells.h"
#include "collector/trace/index_items.h"

struct index_stretch {
	uint64_t offset;
	uint32_t bytes;
};

struct index_text {
	const uint8_t *at;
	size_t count;
};

struct index_name {
	uint32_t iid, text; /* @text: number, from 1 on */
};

struct index_node {
	uint32_t parent; /* 0: the root */
	uint32_t iid; /* of its name; 0: INDEX_WAIT_NAME */
};

struct index_checkpoint {
	struct packet_place place;
	uint64_t ns; /* of the last event before */
	uint32_t chunk; /* place in chunks of the sequence */
	struct index_get open; /* the rest of the item */
};

struct index_chunk {
	uint64_t number; /* a gap in the numbers is a lost chunk */
	uint32_t first_checkpoint; /* place in checkpoints */
	bool whole; /* it has ended, and the members below are known */
	bool rough; /* rows are not exact */
	/* It is the first, or the last, chunk of a block of cells of level
	 * 0. */
	bool begins_cells, ends_cells;
	uint64_t start_ns, end_ns; /* of the last event before it, and of its
				    * last event */
	uint64_t spans; /* approximate */
	uint64_t lost, paused; /* calls, from its marks */
	uint64_t row_count;
	struct index_stretch rows; /* for index_row_next() */
};

/* A block of a level of detail (INDEX_CELLS). */
struct index_block {
	unsigned int level, shift;
	uint64_t first_chunk, last_chunk;
	uint64_t start_ns, end_ns; /* of the last event before it, and of its
				    * last event */
	uint64_t beyond_calls; /* calls too deep for the rows */
	struct index_stretch cells; /* for index_cell_take() */
};

struct index_sequence {
	uint32_t id;
	bool ended; /* no packets after its last chunk */
	bool curves_end; /* the curves have all its values */
	struct index_checkpoint *checkpoints;
	uint32_t checkpoint_count, checkpoint_room;
	struct index_chunk *chunks;
	uint32_t chunk_count, chunk_room;
	struct index_block *blocks; /* by level, then by first chunk; no two
				     * have both in common */
	uint32_t block_count, block_room;
	struct index_node *nodes; /* by number; [0] is the root */
	uint32_t node_count, node_room;
	struct index_name *names;
	uint32_t name_count, name_room;
};

/* INDEX_PACKET, INDEX_INTERNED, INDEX_VALUE, INDEX_TRACK or INDEX_SWITCHES. */
struct index_packet {
	uint32_t kind;
	uint32_t sequence; /* of the first three kinds */
	struct packet_place place; /* INDEX_VALUE: of the block */
	const uint8_t *at; /* the rest of the item */
	size_t count;
};

/* INDEX_COUNTER or INDEX_CURVE. */
struct index_curve_item {
	uint32_t kind;
	uint32_t sequence; /* 0: not a thread's (see INDEX_COUNTER) */
	struct index_get get;
};

struct index_extent {
	uint64_t offset, end;
	uint64_t first_ns, last_ns; /* of events; 0, 0: no event has a time */
	uint64_t sched_first_ns, sched_last_ns; /* of switches of threads */
	bool untimed; /* has events without a known time */
	struct index_get sequences; /* of threads; varints: differences */
	uint32_t sequence_count;
	uint32_t packet_end; /* end of its items in packets, which start at the
			      * packet_end of the previous extent */
	/* Threads' events with an absolute time; 0, 0: none. */
	uint64_t absolute_first_ns, absolute_last_ns;
	struct index_rest { /* INDEX_REST */
		bool told; /* the members below are known */
		uint64_t first_ns, last_ns; /* 0, 0: no event has a time */
		uint64_t last_event_ns; /* without waits */
	} rest;
};

struct trace_index {
	int fd;
	uint64_t bytes;
	struct index_kept *kept; /* copies of items */
	uint64_t trace_bytes; /* length of the part of the trace that it
			       * describes */
	bool whole; /* written after the end of the recording */
	bool has_rest; /* all extents have a complete rest */
	struct index_text *texts; /* number N is item N - 1 */
	uint32_t text_count, text_room;
	struct index_sequence *sequences; /* sorted by id */
	uint32_t sequence_count, sequence_room;
	struct index_packet *packets; /* in the order of the file */
	uint32_t packet_count, packet_room;
	struct index_curve_item *curves; /* in the order of the file */
	uint32_t curve_count, curve_room;
	bool curves_end; /* they have all values that are not a thread's */
	struct index_extent *extents; /* in the order of the file */
	uint32_t extent_count, extent_room;
};

/* The reason why an index is not usable. */
enum index_fault {
	INDEX_FINE,
	INDEX_MISSING, /* no such file */
	INDEX_FOREIGN, /* of another trace */
	INDEX_LATER, /* made by a later perfrec */
	INDEX_DAMAGED, /* not an index, or damaged at the start */
	INDEX_UNREADABLE, /* reading failed: errno */
};

/*
 * Reads the index at @path of the trace at @trace_path. Ignores damage and
 * everything behind it. Returns INDEX_FINE, and the caller frees *@out with
 * trace_index_free(); otherwise *@out is unchanged. Logs nothing.
 */
enum index_fault trace_index_read(const char *path, const char *trace_path,
				  struct trace_index **out);
/* Returns the length of the part of the trace that @index describes; 0 if
 * @index is NULL. */
static inline uint64_t trace_index_told(const struct trace_index *index)
{
	return index ? index->trace_bytes : 0;
}

/* Reads "SOMETHING.index" beside the trace at @trace_path, if that is called
 * "SOMETHING.pftrace". */
enum index_fault trace_index_read_beside(const char *trace_path,
					 struct trace_index **out);
/* Frees *@index, which may be NULL, and clears it. */
void trace_index_free(struct trace_index **index);

/* Bytes of the file. All zero is empty. */
struct index_buffer {
	uint8_t *at;
	size_t room;
};

/* Reads @stretch of the file of @index into @buffer, which the caller may reuse
 * and finally frees. Returns the bytes; bad and empty if they are not readable,
 * or without memory. */
struct index_get index_load(const struct trace_index *index,
			    struct index_stretch stretch,
			    struct index_buffer *buffer);

/* Returns the sequence @id, or NULL if the index has none. */
const struct index_sequence *trace_index_sequence(
	const struct trace_index *index, uint32_t id);

/* Sets *@first_ns and *@last_ns to the first and the last time of all extents;
 * 0, 0: no times. */
void trace_index_times(const struct trace_index *index, uint64_t *first_ns,
		       uint64_t *last_ns);

/* Returns the number of checkpoints of @sequence before @ns: all events in
 * front of them are earlier. */
uint32_t index_checkpoints_before(const struct index_sequence *sequence,
				  uint64_t ns);
/* Returns true if @sequence has ended, and its last chunk ends before @ns.
 * @sequence has chunks. */
bool index_sequence_is_over(const struct index_sequence *sequence, uint64_t ns);

struct index_slice {
	uint32_t node; /* always a node of the sequence */
	bool noted; /* its packet has more than a name */
	uint64_t begin_ns;
};

/* Open slices, outermost first. All zero: none. */
struct index_stack {
	struct index_slice *slices;
	uint32_t count, room;
};

/* Sets @out to the slices open at checkpoint @number of @sequence. Returns 0;
 * -ENOMEM; or -EBADMSG if the items are damaged. The caller frees
 * out->slices. */
int trace_index_stack(const struct index_sequence *sequence, uint32_t number,
		      struct index_stack *out);
/* The same for the start of chunk @number. @out is empty behind the last chunk,
 * and if the items are damaged. Returns 0 or -ENOMEM. */
int index_chunk_stack(const struct index_sequence *sequence, uint32_t number,
		      struct index_stack *out);

struct index_row {
	uint32_t node; /* always a node of the sequence */
	uint64_t calls, total_ns, longest_ns;
};

/* Reads the next row of @rows, a chunk of @sequence. The caller keeps @node
 * between the calls, at first 0. Returns false at the end, or if the rest is
 * damaged (rows->bad). */
bool index_row_next(const struct index_sequence *sequence,
		    struct index_get *rows, int64_t *node,
		    struct index_row *out);

#define INDEX_PATH_MOST 1024u

/* Lists node @number of @sequence and its callers, innermost first, up to a
 * caller with a @known value. Returns the length of the list, and sets *@top to
 * that caller, or to 0, the root. Returns INDEX_PATH_MOST if the callers are
 * damaged. */
uint32_t index_node_path(const struct index_sequence *sequence, uint32_t number,
			 const uint32_t *known, uint32_t path[INDEX_PATH_MOST],
			 uint32_t *top);

#endif
