/* SPDX-License-Identifier: Apache-2.0
 *
 * index_build - makes the items of the index (index/index_items.h) for one
 * sequence, while replay makes its packets: where a reader can begin, and what
 * was called in each chunk. It counts slices that are written, no others: what
 * a reader finds in the trace and what it finds here must be equal.
 *
 * A chunk is CHUNK_SPANS spans, or ROW_SPANS for each row of its sums if that
 * is more, so that the index stays small beside the trace. It is fewer if the
 * trace has got CHUNK_BYTES longer since the chunk began, so that the chunks of
 * a slow thread among fast ones are not spread over all of the file. It ends
 * where a block of packets ends.
 *
 * What a chunk counts is the difference of what the nodes of the tree have
 * counted. A node that is touched for the first time in a chunk is put into a
 * list, with its counts so far. Whether it was says a stamp in the node, in the
 * line of the cache that is needed anyway.
 *
 * One thread at a time: that of the replay.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_INDEX_BUILD_H
#define PERFREC_COLLECTOR_REPLAY_INDEX_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/index/index_cells.h"
#include "collector/index/index_curves.h"
#include "collector/replay/cct.h"
#include "collector/replay/index_values.h"
#include "shared/compiler.h"

struct budget;
struct encode_event;
struct replay_frame;

/* A node of which a call ended in this chunk, or that has time in it. */
struct index_touch {
	struct cct_node *node;
	uint64_t calls, total_ns; /* of the node when the chunk began */
	uint64_t longest_ns; /* of those calls that took UINT32_MAX or longer */
};

/* A slice that is open at some moment. */
struct index_open {
	uint64_t begin_ns;
	struct cct_node *node;
	bool noted; /* its begin has more than a name */
};

struct index_build {
	struct budget *budget;
	uint32_t stamp; /* that nodes which were touched in this chunk have */
	struct index_touch *touched;
	uint32_t touch_count, touch_room;
	uint32_t next_node;
	uint64_t chunk; /* its number, from 1 on */
	bool apart; /* see index_build_count_apart() */
	bool rough; /* the sums of this chunk are not right */
	bool started; /* it has its first checkpoint */
	bool stopped; /* see index_build_stop() */
	bool due; /* a checkpoint, at the next block */
	uint64_t start_ns; /* the last event before the chunk */
	uint64_t start_spans, start_bytes;
	uint64_t overflowed; /* of the tree, when the last chunk ended */
	uint64_t lost, paused; /* calls that marks in this chunk tell of */
	struct index_open *start; /* slices open at its start */
	uint32_t start_count, start_room;

	uint64_t told_spans, told_bytes; /* at the last checkpoint */
	struct index_open *open; /* slices open at the last checkpoint */
	uint32_t open_count, open_room;
	struct index_open *listed; /* slices open now */
	uint32_t listed_count, listed_room;

	/* Slices of waits for room in the ring; they have no node. */
	struct index_wait {
		struct cct_node *caller;
		uint32_t number;
		uint64_t calls, total_ns, longest_ns;
	} * waits;
	uint32_t wait_count, wait_room;

	struct index_cells cells; /* levels of detail */
	struct index_values values; /* that were not told yet */
	struct index_curves curves;
	/* When curves were told last what is to spare. */
	uint64_t curves_spans, curves_trace_bytes;
	struct bytes items; /* the same */
	struct bytes payload; /* of the item at hand */
	int64_t row_before; /* number of the node of the row before */
};

/* What a checkpoint or the end of a chunk is told. */
struct index_now {
	uint64_t last_ns; /* of the last event that was written */
	uint64_t spans; /* that were written so far, about */
	uint64_t trace_bytes; /* that the recording has so far, about */
	uint64_t overflowed; /* of the tree */
	const struct replay_frame *stack; /* [0] stands for the thread */
	const struct replay_frame *stack_end; /* of its memory */
	uint32_t written; /* slices that are open */
	bool mid_call; /* an end was written, and its call is not counted */
	bool last; /* nothing will follow on this sequence */
};

/* Makes *@out. @budget pays and must outlive it. 0 or -ENOMEM; after 0 the
 * caller ends it by index_build_free(). */
int index_build_new(struct budget *budget, struct index_build **out);
/* Frees *@build, which may be NULL, and clears it. */
void index_build_free(struct index_build **build);

/* A block of packets begins. */
void index_build_begin(struct index_build *build, const struct index_now *now);
/* A block of packets ends. Returns how many bytes of items there are for it, at
 * *@items until the next call. */
size_t index_build_end(struct index_build *build, const struct index_now *now,
		       const void **items);

/* No packets follow, though slices are open. Between blocks. Returns as
 * index_build_end() how many bytes of items there are, at the end of all. */
size_t index_build_break(struct index_build *build, const void **items);

/* Items were lost: later ones would build on them, so there will be none. What
 * follows on the sequence is read from the trace. */
void index_build_stop(struct index_build *build);

/* The InternedData at @interned was written, in a packet of @sequence. */
void index_build_interned(struct index_build *build, uint32_t sequence,
			  const void *interned, size_t bytes);
/* @event was written, at @ns. */
void index_build_event(struct index_build *build, uint64_t ns,
		       const struct encode_event *event);
/* A mark was written, at @ns, that @lost calls were lost, or @paused not
 * recorded. */
void index_build_missing(struct index_build *build, uint64_t lost,
			 uint64_t paused, uint64_t ns);
/* What is told of a slice that ended: how many slices of the trace were around
 * it, and its times. */
struct index_slice_end {
	uint32_t depth;
	uint64_t begin_ns, end_ns;
	uint64_t waited_ns; /* for the collector: no time of the call */
};
/* A wait was written as a slice of its own, in @caller. */
void index_build_wait(struct index_build *build, struct cct_node *caller,
		      const struct index_slice_end *end);
/* A call of @node that was not written ends, and took @ns. Before it is counted
 * in the node. */
void index_build_skip(struct index_build *build, struct cct_node *node,
		      uint64_t ns);

/* The calls that are written are counted here, and not as differences of what
 * the nodes have: for a replay most of whose calls are not written, and which
 * calls index_build_slice() for those that are. Before the first block. */
void index_build_count_apart(struct index_build *build, bool apart);
/* The same as index_build_call(), also if calls are counted apart; then
 * index_build_skip() need not be called. */
void index_build_slice(struct index_build *build, struct cct_node *node,
		       const struct index_slice_end *end);

/* Before index_build_call() of slices with less than @depths around them.
 * Returns @build, whose columns stay where they are until the next call; or
 * NULL: index_build_call() may not be called, as there is no index, or no room.
 * @build may be NULL. */
struct index_build *index_build_reserve(struct index_build *build,
					uint32_t depths);

/* For index_build_call(). */
void index_build_call_slow(struct index_build *build, struct cct_node *node,
			   const struct index_slice_end *end);

/* A call of @node ends. It was written, and it has no wait for the collector.
 * @column is that of its depth, the number of slices around it. Call this
 * before cct_count() counts it in the node. */
static inline void index_build_call(struct index_build *build,
				    struct cct_node *node,
				    struct index_column *column,
				    uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t ns = end_ns - begin_ns;

	if (unlikely(node->stamp != build->stamp) ||
	    unlikely(end_ns >= build->cells.until_ns) ||
	    unlikely(!index_cells_count(column, node, begin_ns, ns)))
		index_build_call_slow(
			build, node,
			&(const struct index_slice_end){
				.depth = (uint32_t)(column -
						    build->cells.columns),
				.begin_ns = begin_ns,
				.end_ns = end_ns });
	else
		node->longest_ns = MAX(node->longest_ns, (uint32_t)ns);
}

#endif
