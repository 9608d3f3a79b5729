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
#include "collector/trace/encode.h"

struct index_build;

struct replay_frame {
	uint64_t word; /* of its BEGIN or PHANTOM */
	uint64_t begin_ns;
	struct cct_node *node; /* of a phantom: its caller's */
	uint32_t same; /* frames below it with the same stack pointer; or
			* REPLAY_DETACHED */
	bool written; /* its begin is in the trace */
	bool noted; /* its begin in the trace has more than a name */
	/* run_fast() leaves these two alone: false beyond the top. */
	bool cut; /* too deep: see replay_limit(); node as of a phantom */
	bool flat; /* an excluded function: deepens nothing */
};

/* In the place of replay_frame.same: its function went off while it was open,
 * so its end need not come. It also sends run_fast() the long way for a begin.
 */
#define REPLAY_DETACHED UINT32_MAX

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
	} output;
	struct replay_repair {
		enum replay_cause cause; /* REPLAY_ENDED: none yet */
		uint32_t bytes;
		uint8_t packet[ENCODE_AGAIN_BYTES];
	} repair; /* the last end with a mark */
	struct trace_block *block; /* what it lies in; NULL: in stage */
	struct replay_stage *stage; /* see replay_take_turns() */
	struct cct cct;
	struct replay_frame *stack; /* stack[0] stands for the thread */
	struct replay_frame *top;
	uint32_t capacity;
	uint32_t next_iid;
	uint32_t written; /* slices open in the trace */
	uint32_t given; /* as many of them behind the last block given */
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
	bool finished; /* nothing will be written any more */
	struct replay_counts counts;
};

/* As replay_new(), in the memory of @replay, which is the caller's. After 0 the
 * caller ends it by replay_release(). */
int replay_init(struct replay *replay, const struct replay_sink *sink,
		uint32_t sequence, uint64_t start_ns, struct clock_sync *sync,
		const struct pause_list *pauses, struct budget *budget);
/* Frees what @replay has. */
void replay_release(struct replay *replay);

#endif
