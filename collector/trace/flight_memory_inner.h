/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_memory_inner - the body of struct flight_memory, for flight_view.c.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FLIGHT_MEMORY_INNER_H
#define PERFREC_COLLECTOR_TRACE_FLIGHT_MEMORY_INNER_H

#include "collector/base/lock.h"
#include "collector/trace/flight_left.h"
#include "collector/trace/flight_memory.h"
#include "collector/trace/flight_text.h"

struct bytes;

struct flight_segment {
	struct flight_segment *next; /* of its sequence */
	struct flight_segment *newer; /* of all that are sealed */
	struct flight_text *text;
	struct flight_sequence *of;
	uint64_t first_ns, last_ns; /* of its events; in the compact form the
				     * first is that of the restart point */
	bool packets; /* it has more than begins and ends of slices */
};

struct flight_sequence {
	uint32_t id;
	bool compact;
	uint64_t start_ns; /* where its clock starts; if it is compact */
	struct flight_text *kept; /* packets without times */
	struct flight_segment *first, *last; /* last: open, unless it is sealed
					      */
	bool open; /* last is */
	bool ended; /* nothing will come any more */
	struct flight_left left; /* behind by what was forgotten */
};

struct flight_memory {
	struct flight_share *share; /* the lock of that guards the next two */
	struct flight_memory *next; /* member */
	bool exhausted; /* it has nothing to forget any more, for now */
	uint64_t told_bytes; /* atomic: of bytes, as share was told */

	struct lock lock; /* of everything below, but keep_ns */
	uint64_t keep_ns;
	uint64_t bytes; /* of texts, and what was left behind */
	uint64_t first_ns; /* what is before may have been forgotten; 0:
			    * nothing was */
	uint64_t last_ns; /* of all events */
	uint64_t lost;
	uint64_t sweep_ns; /* from then on threads that do nothing are looked
			    * for */
	struct flight_sequence **sequences; /* by number; NULL: unknown */
	uint32_t sequence_room;
	struct flight_segment *oldest, *newest; /* that are sealed */
};

/* For flight_share.c. @memory forgets its oldest segments until it has @bytes
 * less, or folds what is open. False: there is nothing to forget. */
bool flight_memory_give(struct flight_memory *memory, uint64_t bytes,
			uint64_t now_ns);
/* The same of what is too old at @now_ns, though nothing came since. */
void flight_memory_age(struct flight_memory *memory, uint64_t now_ns);

/* A segment is forgotten, or passed over: takes what it leaves behind into
 * @left. @texts: bytes it has (flight_text_cut()). @next: the segment after it;
 * NULL: none. @kept: where packets without times go that lie in it; NULL: they
 * were kept. */
void flight_segment_leave(const struct flight_segment *segment,
			  const struct flight_cut *cut,
			  const struct flight_cut *next,
			  struct flight_left *left, struct flight_text *kept);

/* Appends to @out a restart point with what is open at the end of @cut, which
 * has events in the compact form from a restart point on; *@ns becomes the time
 * of the last of them. False: no memory, or they are no events. */
bool flight_segment_fold(const struct flight_cut *cut, uint64_t *ns,
			 struct bytes *out);

#endif
