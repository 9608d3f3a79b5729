/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_memory_inner - struct flight_memory, for flight_view.c.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FLIGHT_MEMORY_INNER_H
#define PERFREC_COLLECTOR_TRACE_FLIGHT_MEMORY_INNER_H

#include "collector/base/lock.h"
#include "collector/trace/flight_left.h"
#include "collector/trace/flight_memory.h"
#include "collector/trace/flight_text.h"

struct bytes;

struct flight_segment {
	struct flight_segment *next; /* of the same sequence */
	struct flight_segment *newer; /* list of all sealed segments */
	struct flight_text *text;
	struct flight_sequence *of;
	uint64_t first_ns, last_ns; /* of its events; in the compact form
				     * first_ns is that of the restart point */
	bool packets; /* it has packets besides begins and ends of slices */
};

struct flight_sequence {
	uint32_t id;
	bool compact;
	uint64_t start_ns; /* start of its clock; if compact */
	struct flight_text *kept;
	/* last: open until it is sealed */
	struct flight_segment *first, *last;
	bool open; /* last is open */
	bool ended; /* no packet will follow */
	struct flight_left left; /* state of dropped segments */
};

struct flight_memory {
	struct flight_share *share; /* its lock guards the next two fields */
	struct flight_memory *next; /* next member of share */
	bool exhausted; /* it has nothing to drop at present */
	uint64_t told_bytes; /* atomic: part of bytes that share has counted */

	struct lock lock; /* protects the fields below, except keep_ns */
	uint64_t keep_ns;
	uint64_t bytes; /* of texts and lasting state */
	uint64_t first_ns; /* earlier events may be dropped; 0: none are */
	uint64_t last_ns;
	uint64_t lost;
	uint64_t sweep_ns; /* next time to look for idle threads */
	struct flight_sequence **sequences; /* sorted by id */
	uint32_t sequence_count, sequence_room;
	struct flight_segment *oldest, *newest; /* of the sealed segments */
};

/* For flight_share.c. Drops the oldest segments of @memory until it uses @bytes
 * less, or folds open ones. Returns false if there is nothing to drop. */
bool flight_memory_give(struct flight_memory *memory, uint64_t bytes,
			uint64_t now_ns);
/* Drops segments that are too old at @now_ns, for a memory without new
 * blocks. */
void flight_memory_age(struct flight_memory *memory, uint64_t now_ns);

/* Takes the lasting state of a segment that is dropped or skipped into @left.
 * @cut: its bytes (flight_text_cut()). @next: the segment after it, or NULL.
 * @kept: target of its packets without times; NULL: they were kept before. */
void flight_segment_leave(const struct flight_segment *segment,
			  const struct flight_cut *cut,
			  const struct flight_cut *next,
			  struct flight_left *left, struct flight_text *kept);

/* Appends a restart point to @out with the slices open at the end of @cut,
 * which has events in the compact form from a restart point on. Sets *@ns to
 * the time of its last event. Returns false without memory or if @cut is
 * malformed. */
bool flight_segment_fold(const struct flight_cut *cut, uint64_t *ns,
			 struct bytes *out);

#endif
