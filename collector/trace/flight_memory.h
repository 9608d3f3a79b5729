/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_memory - the newest part of a trace in memory, which replaces the file
 * of trace_file. docs/FLIGHT.md has the purpose.
 *
 * Each sequence has segments: bytes in the form of compact.h that start with a
 * restart point, or finished packets with times. The oldest segment of all
 * sequences is dropped when it is too old or when memory is full
 * (flight_share.h). The last segment of an idle thread is folded: only the
 * slices open at its end stay. State that later segments need is kept: packets
 * without a time, which describe tracks and names, and the contents of
 * flight_left.h.
 *
 * The writer thread appends; any thread may read (flight_view.h). A lock is
 * held for the copy of a block.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FLIGHT_MEMORY_H
#define PERFREC_COLLECTOR_TRACE_FLIGHT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flight_memory;
struct flight_share;

/* Creates *@out for @keep_ns of time, limited to its part of @share or a little
 * more. @share must outlive it. Returns 0, and the caller frees *@out with
 * flight_memory_free(); or -ENOMEM. */
int flight_memory_new(struct flight_share *share, uint64_t keep_ns,
		      struct flight_memory **out);
/* Frees *@memory, which may be NULL and has no view, and clears it. */
void flight_memory_free(struct flight_memory **memory);

struct flight_block {
	uint32_t sequence;
	bool compact, packets, ended; /* about the first own_bytes */
	const uint8_t *data;
	uint32_t bytes, own_bytes;
	uint64_t last_ns;
};

/* Takes finished packets without times that describe later packets. One thread
 * at a time. */
void flight_memory_describe(struct flight_memory *memory,
			    const uint8_t *packets, size_t bytes);
void flight_memory_take(struct flight_memory *memory,
			const struct flight_block *block);

struct flight_reach {
	uint64_t first_ns; /* earlier events may be missing; 0: complete */
	uint64_t last_ns;
	uint64_t bytes; /* memory in use */
	uint64_t lost; /* packets lost without memory */
	bool nearly_full; /* it will soon drop its oldest segment */
};
void flight_memory_reach(struct flight_memory *memory,
			 struct flight_reach *out);

#endif
