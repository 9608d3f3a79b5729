/* SPDX-License-Identifier: Apache-2.0
 *
 * sequences - what a trace file knows of its sequences: which ones it has
 * packets of, and how many slices each leaves open. Every thread that records
 * has a sequence of its own, and a program may make threads for days. So a
 * sequence without an open slice takes one bit, and only the others take an
 * entry in a table.
 *
 * All zero is one without sequences. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_TRACE_SEQUENCES_H
#define PERFREC_COLLECTOR_TRACE_SEQUENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sequences {
	uint64_t *known; /* a bit for each id */
	uint32_t known_words;
	uint32_t count; /* how many are known */
	struct open_sequence {
		uint32_t id; /* 0: a free entry. No sequence has this id. */
		uint32_t slices;
		uint64_t last_ns; /* of its last event; 0: not known */
	} * open;
	uint32_t open_room; /* a power of two, or 0 */
	uint32_t open_count; /* entries in use */
	uint64_t slices; /* open ones of all sequences */
};

/* Free what @sequences holds. */
void sequences_release(struct sequences *sequences);
/* Make room for sequence @id, and for @more sequences with open slices beyond
 * those that there are. 0, or -ENOMEM: nothing has changed then. */
int sequences_make_room(struct sequences *sequences, uint32_t id,
			uint32_t more);
/* Whether the file has packets of sequence @id. */
bool sequences_know(const struct sequences *sequences, uint32_t id);
/* The file has packets of sequence @id, which open @opened slices, or end as
 * many if it is negative; the last event is at @last_ns, or 0: that is not
 * known. There must be room for it. Returns how many slices of the sequence are
 * open now. */
uint32_t sequences_change(struct sequences *sequences, uint32_t id,
			  int32_t opened, uint64_t last_ns);
/* The file has nothing of sequence @id any more. One with open slices stays. */
void sequences_forget(struct sequences *sequences, uint32_t id);
/* Go through the sequences with open slices, in any order: *@at is 0 at first.
 * Returns the next one, or NULL after the last. Nothing may change between. */
const struct open_sequence *sequences_next_open(
	const struct sequences *sequences, uint32_t *at);
/* Bytes that @sequences holds. */
size_t sequences_bytes(const struct sequences *sequences);

#endif
