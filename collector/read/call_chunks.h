/* SPDX-License-Identifier: Apache-2.0
 *
 * call_chunks - which chunks of an index may have calls that a search is for,
 * by the longest call of each function in them. One thread at a time.
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
	uint8_t *texts; /* enum chunk_match, by number - 1 */
	uint8_t **nodes; /* the same, by sequence and node */
	uint64_t least_ns; /* calls that are shorter are not of interest */
	uint64_t passed; /* calls of the function in chunks that are left out */
	uint64_t longest_ns; /* of these */
	struct index_buffer rows; /* of the chunk at hand */
	bool all; /* they match, but are not among the longest */
};

/* Looks at all of @index. Both outlive *@chunks. 0 or -ENOMEM;
 * call_chunks_release() frees it in any case. */
int call_chunks_take(struct call_chunks *chunks,
		     const struct trace_index *index,
		     const struct call_wish *wish);
void call_chunks_release(struct call_chunks *chunks);
/* Whether chunk @number of @sequence is to be read; as trace_parts_wants(),
 * once for each chunk. */
bool call_chunks_want(void *chunks, const struct index_sequence *sequence,
		      uint32_t number);

#endif
