/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_inner - the body of struct replay, for replay.c, and for fibers.c and
 * the tests, which make stacks in memory of their own.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_REPLAY_INNER_H
#define PERFREC_COLLECTOR_REPLAY_REPLAY_INNER_H

#include "collector/replay/replay.h"
#include "collector/replay/cct.h"
#include "collector/replay/clock_sync.h"
#include "collector/replay/heap_feed.h"
#include "collector/replay/histograms.h"
#include "collector/replay/replay_frame.h"
#include "collector/trace/encode.h"

struct index_build;

/* In the place of replay_frame.same: its function went off while it was open,
 * so its end need not come. It also sends run_fast() the long way for a begin.
 */
#define REPLAY_DETACHED UINT32_MAX

/* gcc inlines a recursive function at most 8 deep into itself. */
#define SAME_FRAMES_MAX 64

#define BEGIN_XOR_END ((uint64_t)(RECORD_BEGIN ^ RECORD_END))

/* Whether @frame stands for a span that is not in the trace, as it was dropped,
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
	uint32_t log_count; /* its changes, when the segment was cut */
	uint32_t log_done; /* those that were followed */
	uint32_t pause_changes; /* of pauses, when the segment was cut */
	bool paused; /* in this segment, which ends where that ends */
	bool linked; /* see replay_link() */
	bool inherits; /* see replay_inherit() */
	struct replay_note *note; /* for the next record; NULL: none */
	struct sites *sites; /* of addresses below SITES_MAX; NULL: none */
	struct replay_sites {
		struct replay_site *entry; /* hash table by id */
		uint32_t count, mask;
	} named; /* sites, on this sequence */
	uint64_t now_ns;
	struct clock_segment segment;
	struct encoder encoder;
	struct replay_output {
		uint8_t *start, *end; /* for packets; NULL: none is taken */
		struct trace_name *names;
		uint32_t name_count, name_room;
		uint64_t first_ns, last_ns; /* of the events, at most and at
					     * least */
		bool packets; /* more than begins and ends of slices */
	} output;
	struct replay_restart {
		bool begun; /* there is one */
		uint64_t bytes; /* of events behind the last one */
		uint64_t ns; /* when that was written */
	} restart; /* in the compact form */
	struct trace_block *block; /* what it lies in; NULL: in stage */
	struct replay_stage *stage; /* see replay_take_turns() */
	struct cct cct;
	struct replay_frame *stack; /* stack[0] stands for the thread */
	struct replay_frame *top;
	uint32_t capacity;
	uint32_t next_iid;
	uint64_t cells; /* records before the one at hand */
	uint32_t written; /* slices open in the trace */
	uint32_t given; /* as many of them behind the last block given */
	uint64_t min_ns; /* see replay_set_min_duration(); 0: none */
	uint32_t pending; /* open slices whose begins are not written yet; all
			   * of them lie above those that are */
	uint32_t pending_from; /* no frame below this one is such a slice; none
				* from it on is another slice */
	uint32_t over; /* frames beyond the deepest stack there is room for */
	uint32_t limit; /* of depth; 0: none */
	uint32_t flat; /* frames that are */
	uint64_t outer_word; /* of the first BEGIN; 0: none yet */
	uint64_t last_ns;
	uint64_t search_credit;
	uint64_t untold_paused; /* spans that no mark in the trace tells */
	struct histograms *histograms; /* of durations; NULL: none */
	struct heap_feed *feed; /* for blocks; NULL: the caller takes them */
	struct index_build *index; /* NULL: none is made */
	bool mid_call; /* an end is written, and its call not counted */
	bool has_mark_key; /* the trace says what ENCODE_KEY_REPAIRED is */
	bool finished; /* nothing will be written any more */
	struct replay_counts counts;
};

static inline bool replay_is_block(uint64_t word)
{
	return record_kind(word) == RECORD_ALLOC ||
	       record_kind(word) == RECORD_FREE;
}

/* The last frame that a call may be written fast from. Beyond it lies the end
 * of the stack, or the limit of the depth, or no more slice may be written. */
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

/*
 * What run_fast() of replay.c does, for a replay that leaves short calls out
 * (replay_lazy.c). Takes in the records from @cells on, at most @count, as far
 * as they are plain begins and ends, and blocks at sites that are known.
 * Returns how many it took.
 */
size_t replay_run_lazy(struct replay *replay, const struct record *cells,
		       size_t count);
/* Writes the pending begins that are not later than @until_ns. */
void replay_write_pending(struct replay *replay, uint64_t until_ns);
/* Writes, at @ns, the end of a slice whose begin is written and that has its
 * end, without a note. */
void replay_write_end(struct replay *replay, uint64_t ns);

/* Sets @frame, the one above the top, as a plain begin does.
 * @waited_ns, @cell, @same: as in struct replay_frame. */
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
}

/* Feeds a block, in a call of @node, if that is what the record is. False: it
 * is something else, or at a site that is not known. */
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

/* The call of @frame ends at @ns. It took @took_ns: ns - frame->begin_ns,
 * without waits for the collector. Reports it to the sink if the sink asked for
 * calls so slow. */
static inline void replay_tell_slow(const struct replay *replay,
				    const struct replay_frame *frame,
				    uint64_t ns, uint64_t took_ns)
{
	const struct replay_sink *sink = &replay->sink;

	if (unlikely(took_ns >= frame->node->function->slow_ns) && sink->slow)
		sink->slow(sink->context, frame->node, frame->begin_ns, ns,
			   took_ns);
}

/* The call of @frame ends at @ns, and took @took_ns: as above. Counts it in the
 * tree and in its histogram. own_counts.h subtracts waits from the tree later.
 * The weight in the histogram is the number of records in the call: perfrec's
 * part of its time (function_table_correct()). @cell: its end. The time of a
 * call beyond the deepest frame is not known, so the histogram lacks it. */
static inline void replay_count_call(const struct replay_frame *frame,
				     uint64_t cell, uint64_t ns,
				     uint64_t took_ns)
{
	struct histogram *histogram = frame->node->function->histogram;

	cct_count(frame->node, frame[-1].node, ns - frame->begin_ns);
	if (likely(histogram))
		histogram_add_weight(histogram, took_ns, cell - frame->cell);
}

/* As replay_new(), in the memory of @replay, which is the caller's. After 0 the
 * caller ends it by replay_release(). */
int replay_init(struct replay *replay, const struct replay_sink *sink,
		uint32_t sequence, uint64_t start_ns, struct clock_sync *sync,
		const struct pause_list *pauses, struct budget *budget);
/* Frees what @replay has. */
void replay_release(struct replay *replay);

#endif
