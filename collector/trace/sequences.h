/* SPDX-License-Identifier: Apache-2.0
 *
 * sequences - the sequences of a trace file: those with packets in it, and the
 * number of slices that each leaves open. Each recording thread has its own
 * sequence, and a program may create threads for days. So a sequence without an
 * open slice takes one bit, and only the others have an entry in a table.
 *
 * All zero: no sequence. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_TRACE_SEQUENCES_H
#define PERFREC_COLLECTOR_TRACE_SEQUENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sequences {
	uint64_t *known; /* a bit for each id */
	uint32_t known_words;
	uint32_t count; /* known ids */
	struct open_sequence {
		uint32_t id; /* 0: a free entry; no sequence has this id */
		uint32_t slices;
		uint64_t last_ns; /* of its last event; 0: unknown */
	} * open;
	uint32_t open_room;
	uint32_t open_count;
	uint64_t slices; /* open ones of all sequences */
};

void sequences_release(struct sequences *sequences);
/* Makes room for sequence @id, and for @more further sequences with open
 * slices. Returns 0, or -ENOMEM without any change. */
int sequences_make_room(struct sequences *sequences, uint32_t id,
			uint32_t more);
/* Returns true if the file has packets of sequence @id. */
bool sequences_know(const struct sequences *sequences, uint32_t id);
/* The file has new packets of sequence @id, which open @opened slices, or end
 * as many if negative. @last_ns: time of the last event, or 0. There must be
 * room. Returns the number of open slices of the sequence. */
uint32_t sequences_change(struct sequences *sequences, uint32_t id,
			  int32_t opened, uint64_t last_ns);
/* The file has no packets of sequence @id any more. A sequence with open slices
 * stays. */
void sequences_forget(struct sequences *sequences, uint32_t id);
/* Iterates over the sequences with open slices, in any order; *@at is 0 at
 * first. Returns NULL after the last. The table must not change in between. */
const struct open_sequence *sequences_next_open(
	const struct sequences *sequences, uint32_t *at);
/* Returns the bytes of memory in use. */
size_t sequences_bytes(const struct sequences *sequences);

#endif
