/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_inner - the body of struct replay, for replay.c, and for fibers.c and
 * tests, which make stacks in their own memory.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_REPLAY_INNER_H
#define PERFREC_COLLECTOR_REPLAY_REPLAY_INNER_H

#include "collector/replay/cct.h"
#include "collector/replay/clock_sync.h"
#include "collector/replay/heap_feed.h"
#include "collector/replay/histograms.h"
#include "collector/replay/replay.h"
#include "collector/replay/replay_frame.h"
#include "collector/trace/encode.h"

struct index_build;

/* A value of replay_frame.same: the function went off while the frame was open,
 * so its end may not come. Also sends run_fast() the long way for a BEGIN. */
#define REPLAY_DETACHED UINT32_MAX

/* gcc inlines a recursive function at most 8 deep into itself. */
#define SAME_FRAMES_MAX 64

#define BEGIN_XOR_END ((uint64_t)(RECORD_BEGIN ^ RECORD_END))

/* Returns true if the span of @frame is not in the trace: it was dropped,
 * excluded, or began in a pause. */
static inline bool replay_is_phantom(const struct replay_frame *frame)
{
	return record_kind(frame->word) == RECORD_PHANTOM;
}

struct replay {
	struct replay_sink sink;
	struct clock_sync *sync; /* NULL: clocks are ns */
	const struct pause_list *pauses;
	const struct function_log *log; /* NULL: no function is ever off */
	uint32_t log_count; /* number of its changes when the segment was cut */
	uint32_t log_done;
	uint32_t pause_changes; /* number of pauses when the segment was cut */
	bool paused; /* in this segment, which ends with the pause */
	bool linked;
	bool inherits;
	struct replay_note *note;
	struct sites *sites;
	struct replay_sites {
		struct replay_site *entry;
		uint32_t count, mask;
	} named;
	uint64_t now_ns;
	struct clock_segment segment;
	struct encoder encoder;
	struct replay_output {
		uint8_t *start, *end;
		struct trace_name *names;
		uint32_t name_count, name_room;
		uint64_t first_ns, last_ns; /* of the events: limits */
		bool packets; /* more than begins and ends of slices */
	} output;
	struct replay_restart {
		bool begun;
		uint64_t bytes; /* of events since the last one */
		uint64_t ns;
	} restart; /* places to start in the compact form */
	struct trace_block *block; /* the block of output; NULL: it is in
				    * stage */
	struct replay_stage *stage;
	struct cct cct;
	struct replay_frame *stack;
	struct replay_frame *top;
	uint32_t capacity;
	uint32_t next_iid;
	uint64_t cells; /* records before the current one */
	uint32_t written; /* slices open in the trace */
	uint32_t given; /* open slices at the end of the last block */
	uint64_t min_ns;
	uint32_t pending; /* open slices whose begins are not written yet; all
			   * are above the written ones */
	uint32_t pending_from; /* frames below it are not pending, and all
			        * slices from it on are */
	uint32_t over; /* frames beyond the deepest possible stack */
	uint32_t limit;
	uint32_t flat;
	uint64_t outer_word; /* of the first BEGIN; 0: none yet */
	uint64_t last_ns;
	uint64_t search_credit;
	uint64_t untold_paused; /* paused spans without a mark in the trace
				 * yet */
	struct histograms *histograms; /* NULL: none */
	struct heap_feed *feed; /* for blocks; NULL: the caller handles them */
	struct index_build *index; /* NULL: none */
	bool mid_call; /* an end was written whose call is not counted yet */
	bool has_mark_key;
	bool finished;
	struct replay_counts counts;
};

static inline bool replay_is_block(uint64_t word)
{
	return record_kind(word) == RECORD_ALLOC ||
	       record_kind(word) == RECORD_FREE;
}

/* Returns the last frame that may call another one in the fast loops. Beyond
 * it, the stack, the depth or the number of slices reaches its limit. */
static inline struct replay_frame *replay_last_fast_frame(
	const struct replay *replay)
{
	uint64_t depth = (uint64_t)replay->limit + replay->flat;
	uint64_t most = (uint64_t)replay->capacity - 1;
	uint64_t slices =
		(uint64_t)(replay->top - replay->stack) +
		(REPLAY_SLICES_MAX - replay->written - replay->pending);

	if (replay->limit && depth < replay->capacity)
		most = depth;
	return replay->stack + MIN(most, slices);
}

/* The run_fast() of a replay that leaves out short calls (replay_lazy.c). Reads
 * at most @count records from @cells on, while they are plain begins and ends,
 * and blocks at known sites. Returns their number. */
size_t replay_run_lazy(struct replay *replay, const struct record *cells,
		       size_t count);
void replay_write_pending(struct replay *replay, uint64_t until_ns);
void replay_write_end(struct replay *replay, uint64_t ns);

/* Sets @frame, the first above the top, as a plain begin does. */
static inline void replay_set_frame(struct replay_frame *frame, uint64_t word,
				    uint64_t ns, uint64_t waited_ns,
				    uint64_t cell, struct cct_node *node,
				    uint32_t same)
{
	frame->same = same;
	frame->word = word;
	frame->begin_ns = ns;
	frame->waited_ns = waited_ns;
	frame->cell = cell;
	frame->node = node;
	frame->written = true;
	frame->noted = false;
	frame->held = 0;
}

/* Returns false if the record is not a block, or its site is unknown. */
static inline bool replay_feed_block(struct heap_feed *feed,
				     struct cct_node *node, uint64_t word,
				     uint64_t clock)
{
	if (!feed || !replay_is_block(word) ||
	    !heap_feed_block(feed, word, clock, node->heap_site))
		return false;
	node->blocks++;
	return true;
}

/* @took_ns is ns - frame->begin_ns without waits for the collector. */
static inline void replay_tell_slow(const struct replay *replay,
				    const struct replay_frame *frame,
				    uint64_t ns, uint64_t took_ns)
{
	const struct replay_sink *sink = &replay->sink;

	if (unlikely(took_ns >= frame->node->function->slow_ns) && sink->slow)
		sink->slow(sink->context, frame->node, frame->begin_ns, ns,
			   took_ns, frame->held);
}

/*
 * The call of @frame ends at @ns; @took_ns as above. Counts it in the tree and
 * in its histogram. own_counts.h subtracts waits from the tree later. The
 * weight in the histogram is the number of records in the call, up to its end
 * @cell: perfrec's part of its time (function_table_correct()). A call beyond
 * the deepest frame has no known time, so it is not in the histogram.
 */
static inline void replay_count_call(const struct replay_frame *frame,
				     uint64_t cell, uint64_t ns,
				     uint64_t took_ns)
{
	struct histogram *histogram = frame->node->function->histogram;

	cct_count(frame->node, frame[-1].node, ns - frame->begin_ns);
	if (likely(histogram))
		histogram_add_weight(histogram, took_ns, cell - frame->cell);
}

/* As replay_new(), in the caller's memory. The caller ends it with
 * replay_release(). */
int replay_init(struct replay *replay, const struct replay_sink *sink,
		uint32_t sequence, uint64_t start_ns, struct clock_sync *sync,
		const struct pause_list *pauses, struct budget *budget);
void replay_release(struct replay *replay);

#endif
