/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_memory - the newest stretch of a trace, in memory: what trace_file
 * keeps instead of a file. docs/FLIGHT.md says what it is for.
 *
 * Each sequence has segments: bytes in the form of compact.h that begin with a
 * restart point, or finished packets with times. The oldest segment of all is
 * forgotten when it is too old, or when there is no room (flight_share.h). The
 * last one of a thread that does nothing is folded: of it stays what is open at
 * its end. What is needed of it later is kept: packets without a time, which
 * describe tracks and names, and what flight_left.h keeps.
 *
 * The writer thread appends; any thread may look at what there is
 * (flight_view.h). A lock is held for the copy of a block.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FLIGHT_MEMORY_H
#define PERFREC_COLLECTOR_TRACE_FLIGHT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flight_memory;
struct flight_share;

/* Keeps @keep_ns of time, in its part of @share or a little more, which
 * outlives it. 0: the caller ends *@out by flight_memory_free(); or -ENOMEM. */
int flight_memory_new(struct flight_share *share, uint64_t keep_ns,
		      struct flight_memory **out);
/* Frees *@memory, which may be NULL, and clears it. There is no view. */
void flight_memory_free(struct flight_memory **memory);

/* A block, as trace_file.h has it. */
struct flight_block {
	uint32_t sequence;
	bool compact, packets, ended; /* of the first own_bytes */
	const uint8_t *data;
	uint32_t bytes, own_bytes;
	uint64_t last_ns;
};

/* The @bytes at @packets describe what follows: finished packets without times.
 * One thread at a time. */
void flight_memory_describe(struct flight_memory *memory,
			    const uint8_t *packets, size_t bytes);
/* Takes in @block. The same thread. */
void flight_memory_take(struct flight_memory *memory,
			const struct flight_block *block);

struct flight_reach {
	uint64_t first_ns; /* what is before may be missing; 0: nothing is */
	uint64_t last_ns; /* of the last event; 0: none */
	uint64_t bytes; /* of memory */
	uint64_t lost; /* packets for which there was no memory */
	bool nearly_full; /* so that it will soon forget what is oldest */
};
/* Any thread. */
void flight_memory_reach(struct flight_memory *memory,
			 struct flight_reach *out);

#endif
