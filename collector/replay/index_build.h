/* SPDX-License-Identifier: Apache-2.0
 *
 * index_build - makes the index items (trace/index_items.h) of one sequence
 * while replay makes its packets: places where a reader can start, and the
 * calls of each chunk. It counts only written slices, because the index and the
 * trace must agree.
 *
 * A chunk is CHUNK_SPANS spans, or ROW_SPANS for each row of its sums if that
 * is more, so that the index stays small beside the trace. It is shorter if the
 * trace has grown by CHUNK_BYTES since it began, so that the chunks of a slow
 * thread among fast ones do not spread over the whole file. It ends with a
 * block of packets.
 *
 * The counts of a chunk are differences of the counts of nodes. When a chunk
 * first touches a node, it lists the node with its counts so far. A stamp in
 * the node, in a cache line that is needed anyway, shows that it is listed.
 *
 * One thread at a time: the thread of the replay.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_INDEX_BUILD_H
#define PERFREC_COLLECTOR_REPLAY_INDEX_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/replay/cct.h"
#include "collector/replay/index_values.h"
#include "collector/trace/index_cells.h"
#include "collector/trace/index_curves.h"
#include "shared/compiler.h"

struct budget;
struct encode_event;
struct replay_frame;

/* A node with an ended call, or with time, in this chunk. */
struct index_touch {
	struct cct_node *node;
	uint64_t calls, total_ns; /* of the node when the chunk began */
	uint64_t longest_ns; /* of calls that took UINT32_MAX or longer */
};

struct index_open {
	uint64_t begin_ns;
	struct cct_node *node;
	bool noted; /* its BEGIN has more than a name */
};

struct index_build {
	struct budget *budget;
	uint32_t stamp; /* of nodes that this chunk has touched */
	struct index_touch *touched;
	uint32_t touch_count, touch_room;
	uint32_t next_node;
	uint64_t chunk;
	bool apart;
	bool rough;
	bool started;
	bool stopped;
	bool due; /* the next block has a checkpoint */
	uint64_t start_ns; /* the last event before the chunk */
	uint64_t start_spans, start_bytes;
	uint64_t overflowed; /* of the tree at the end of the last chunk */
	uint64_t lost, paused; /* missing calls, from marks in this chunk */
	struct index_open *start;
	uint32_t start_count, start_room;

	uint64_t told_spans, told_bytes; /* at the last checkpoint */
	struct index_open *open;
	uint32_t open_count, open_room;
	struct index_open *listed;
	uint32_t listed_count, listed_room;

	/* Waits for room in the ring, which have no node. */
	struct index_wait {
		struct cct_node *caller;
		uint32_t number;
		uint64_t calls, total_ns, longest_ns;
	} * waits;
	uint32_t wait_count, wait_room;

	struct index_cells cells;
	struct index_values values; /* not written yet */
	struct index_curves curves;
	/* At the last index_curves_spare(). */
	uint64_t curves_spans, curves_trace_bytes;
	struct bytes items; /* not returned yet */
	struct bytes payload;
	int64_t row_before; /* number of the node of the row before */
};

/* The state at the start or the end of a block. */
struct index_now {
	uint64_t last_ns; /* of the last written event */
	uint64_t spans; /* written so far, about */
	uint64_t trace_bytes; /* of the recording so far, about */
	uint64_t overflowed;
	const struct replay_frame *stack; /* [0] stands for the thread */
	const struct replay_frame *stack_end;
	uint32_t written;
	bool mid_call; /* an end was written whose call is not counted yet */
	bool last; /* the sequence has no more packets */
};

/* Creates *@out. @budget pays and must outlive it. Returns 0 or -ENOMEM. The
 * caller ends it with index_build_free(). */
int index_build_new(struct budget *budget, struct index_build **out);
void index_build_free(struct index_build **build);

void index_build_begin(struct index_build *build, const struct index_now *now);
/* Ends a block of packets. Returns the bytes of its items and sets *@items,
 * valid until the next call. */
size_t index_build_end(struct index_build *build, const struct index_now *now,
		       const void **items);

/* Ends a sequence with open slices, between blocks. Returns the last items as
 * index_build_end() does. */
size_t index_build_break(struct index_build *build, const void **items);

/* Makes no more items, because some were lost and later ones would build on
 * them. Readers read the rest of the sequence from the trace. */
void index_build_stop(struct index_build *build);

/* An InternedData was written in a packet of @sequence. */
void index_build_interned(struct index_build *build, uint32_t sequence,
			  const void *interned, size_t bytes);
void index_build_event(struct index_build *build, uint64_t ns,
		       const struct encode_event *event);
/* A mark was written at @ns: calls were @lost, or not recorded in a pause. */
void index_build_missing(struct index_build *build, uint64_t lost,
			 uint64_t paused, uint64_t ns);
/* A slice that ended. The depth is the number of slices of the trace around
 * it. */
struct index_slice_end {
	uint32_t depth;
	uint64_t begin_ns, end_ns;
	uint64_t waited_ns; /* for the collector: does not count for the call */
};
/* A wait was written in @caller as a slice of its own. */
void index_build_wait(struct index_build *build, struct cct_node *caller,
		      const struct index_slice_end *end);
/* An unwritten call of @node ends, and took @ns. Call it before cct_count(). */
void index_build_skip(struct index_build *build, struct cct_node *node,
		      uint64_t ns);

/* Counts written calls apart, and not as differences of the nodes. For a replay
 * that leaves out most calls: it calls index_build_slice() for the written
 * ones. Call it before the first block. */
void index_build_count_apart(struct index_build *build, bool apart);
/* As index_build_call(), also if calls are counted apart; then
 * index_build_skip() is not needed. */
void index_build_slice(struct index_build *build, struct cct_node *node,
		       const struct index_slice_end *end);

/* Prepares index_build_call() for slices with fewer than @depths around them.
 * Returns @build, whose columns stay in place until the next call. Returns NULL
 * without an index or memory; then index_build_call() is forbidden. @build may
 * be NULL. */
struct index_build *index_build_reserve(struct index_build *build,
					uint32_t depths);

void index_build_call_slow(struct index_build *build, struct cct_node *node,
			   const struct index_slice_end *end);

/* A written call of @node ends, without a wait for the collector. @column is
 * that of its depth, the number of slices around it. Call it before
 * cct_count(). */
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
