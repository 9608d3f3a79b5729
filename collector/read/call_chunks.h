/* SPDX-License-Identifier: Apache-2.0
 *
 * call_chunks - selects the chunks of an index that a search of calls must
 * read, by the longest call of each function in a chunk. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_CALL_CHUNKS_H
#define PERFREC_COLLECTOR_READ_CALL_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/index_interned.h"
#include "collector/read/trace_index.h"

struct call_wish;

struct call_chunks {
	const struct trace_index *index;
	const struct call_wish *wish;
	struct index_interned interned;
	uint8_t *texts; /* enum chunk_match by number - 1 */
	uint8_t **nodes; /* enum chunk_match by sequence and node */
	uint64_t least_ns; /* the search ignores shorter calls */
	uint64_t passed; /* matching calls in skipped chunks */
	uint64_t longest_ns; /* the longest of the passed calls */
	struct index_buffer rows; /* rows of the current chunk */
	bool all; /* passed calls match, but are not among the longest */
};

/* Matches all names of @index. @index and @wish outlive *@chunks. Returns 0 or
 * -ENOMEM; call_chunks_release() frees *@chunks in both cases. */
int call_chunks_take(struct call_chunks *chunks,
		     const struct trace_index *index,
		     const struct call_wish *wish);
void call_chunks_release(struct call_chunks *chunks);
/* Returns true if chunk @number of @sequence must be read. A callback for
 * trace_parts_open(), called once for each chunk. */
bool call_chunks_want(void *chunks, const struct index_sequence *sequence,
		      uint32_t number);

#endif
