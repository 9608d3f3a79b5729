/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_index - makes the index items of one sequence with the calls of a
 * thread or a context. It counts calls in a calling-context tree and drives
 * replay/index_build just as the replay did that wrote these packets. Any
 * packets are safe: the items of the sequence end at the first packet that
 * perfrec would not write, and readers read the rest from the trace.
 *
 *   sequence_index_begin_block()
 *   sequence_index_usual() or sequence_index_event() for each of its events
 *   sequence_index_end_block()
 *
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_SEQUENCE_INDEX_H
#define PERFREC_COLLECTOR_CUT_SEQUENCE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/protobuf.h"
#include "collector/replay/cct.h"
#include "collector/replay/replay_frame.h"

struct budget;
struct index_build;

struct sequence_index {
	uint32_t id;
	uint64_t track;
	uint64_t ns; /* of the last event, by the sequence's clock */
	uint64_t first_ns, last_ns;
	bool bad_clock; /* ns is unknown from here on */
	bool given_up; /* makes no items after this block */
	bool begun; /* has had a block; before, no event is known */
	bool waits; /* a wait for room in the ring is open since wait_ns */
	uint64_t wait_ns;
	uint64_t spans;
	struct index_build *build;
	struct budget *budget;
	struct cct cct;
	struct replay_frame *stack; /* [0] stands for the thread */
	struct replay_frame *top;
	uint32_t capacity;
};

/*
 * Creates *@out for sequence @id, whose events are on track @track and whose
 * clock starts at @start_ns. @budget pays for the tree and the stack and must
 * outlive *@out; without budget there are few items. Returns 0 or -ENOMEM. The
 * caller frees *@out with sequence_index_free().
 */
int sequence_index_new(uint32_t id, uint64_t track, uint64_t start_ns,
		       struct budget *budget, struct sequence_index **out);
void sequence_index_free(struct sequence_index **sequence);

/* Begins a block: packets of this sequence that follow one another.
 * @trace_bytes is the unpacked size of all packets before it. */
void sequence_index_begin_block(struct sequence_index *sequence,
				uint64_t trace_bytes);
/* Reads a packet if it is one of the usual packets of this sequence
 * (read/usual_packet.h). Returns false otherwise. */
bool sequence_index_usual(struct sequence_index *sequence, struct wire fields);
/* Reads any other packet of this sequence with an event. */
void sequence_index_event(struct sequence_index *sequence, struct wire fields);
static inline bool sequence_index_may_end(const struct sequence_index *sequence)
{
	/* A wait has no node, so no block can begin inside it. */
	return !sequence->waits;
}
/* Ends the block. Returns the bytes of its items and sets *@items, which is
 * valid until the next call. @last: the sequence has no more packets. */
size_t sequence_index_end_block(struct sequence_index *sequence,
				uint64_t trace_bytes, bool last,
				const void **items);

/* Ends a sequence that has open slices but no more packets. Call it between
 * blocks. Returns the same as sequence_index_end_block(). */
size_t sequence_index_break(struct sequence_index *sequence,
			    const void **items);

static inline bool sequence_index_is_open(const struct sequence_index *sequence)
{
	return sequence->waits || sequence->top != sequence->stack;
}

#endif
