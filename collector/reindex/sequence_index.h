/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_index - follows the packets of one sequence that has the calls of a
 * thread or of a context, and makes the items of the index for them. It counts
 * in a calling-context tree, and drives replay/index_build as a replay does
 * that makes these packets. The packets may come from anywhere: what perfrec
 * does not write ends the items of the sequence, and then readers read the rest
 * of it.
 *
 *   sequence_index_begin_block()
 *   sequence_index_usual() or sequence_index_event() for each of its events
 *   sequence_index_end_block()
 *
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_REINDEX_SEQUENCE_INDEX_H
#define PERFREC_COLLECTOR_REINDEX_SEQUENCE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/trace_wire.h"
#include "collector/replay/cct.h"
#include "collector/replay/replay_frame.h"

struct budget;
struct index_build;

struct sequence_index {
	uint32_t id;
	uint64_t track; /* uuid */
	uint64_t ns; /* of the last event, on the clock of the sequence */
	uint64_t first_ns, last_ns; /* of the events of the block at hand */
	bool bad_clock; /* ns is not known any more */
	bool given_up; /* no items any more, from the next block on */
	bool begun; /* it has had a block: until then no event is known */
	bool waits; /* a wait for room in the ring is open, since wait_ns */
	uint64_t wait_ns;
	uint64_t spans; /* slices that began */
	struct index_build *build; /* NULL: there will be no items */
	struct budget *budget; /* pays for the tree and the stack */
	struct cct cct;
	struct replay_frame *stack; /* [0] stands for the thread */
	struct replay_frame *top;
	uint32_t capacity;
};

/* Makes *@out for sequence @id, whose events lie on track @track, and whose
 * clock begins at @start_ns. @budget pays for what grows, and must outlive it;
 * if it is used up, there are few items. 0 or -ENOMEM; after 0 the caller ends
 * it by sequence_index_free(). */
int sequence_index_new(uint32_t id, uint64_t track, uint64_t start_ns,
		       struct budget *budget, struct sequence_index **out);
/* Frees *@sequence, which may be NULL, and clears it. */
void sequence_index_free(struct sequence_index **sequence);

/* Packets begin that are told of as one. @trace_bytes: how many bytes packets
 * had that came before, unpacked. */
void sequence_index_begin_block(struct sequence_index *sequence,
				uint64_t trace_bytes);
/* Takes in a packet, if it is one of the usual ones (read/usual_packet.h) of
 * this sequence. */
bool sequence_index_usual(struct sequence_index *sequence, struct wire fields);
/* Takes in any packet of this sequence that has an event. */
void sequence_index_event(struct sequence_index *sequence, struct wire fields);
/* Whether the block may end here. */
static inline bool sequence_index_may_end(const struct sequence_index *sequence)
{
	/* Nothing can begin within a wait: it has no node. */
	return !sequence->waits;
}
/* The block ends. Returns how many bytes of items there are for it, at *@items
 * until the next call. @last: no packets of the sequence follow. */
size_t sequence_index_end_block(struct sequence_index *sequence,
				uint64_t trace_bytes, bool last,
				const void **items);

/* No packets of the sequence follow, though slices are open. Between blocks.
 * Returns as sequence_index_end_block(). */
size_t sequence_index_break(struct sequence_index *sequence,
			    const void **items);

/* Whether slices are open. */
static inline bool sequence_index_is_open(const struct sequence_index *sequence)
{
	return sequence->waits || sequence->top != sequence->stack;
}

#endif
