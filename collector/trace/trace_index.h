/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_index - tells the index of a trace (index/index_file.h) what packets
 * say that nobody has told of: those that are no spans of a thread. They are
 * taken apart for that: they are few.
 *
 * One thread at a time, for one index.
 */
#ifndef PERFREC_COLLECTOR_TRACE_TRACE_INDEX_H
#define PERFREC_COLLECTOR_TRACE_TRACE_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct index_file;

/*
 * The @bytes at @packets, which are whole packets with their Trace.packet tags,
 * are in the trace at @offset; or, if @inner is not 0, in the bundle at
 * @offset,
 * @inner - 1 bytes from its begin. The index is told of their sequences and
 * times, and gets a copy of those that have no time.
 */
void trace_index_packets(struct index_file *index, uint64_t offset,
			 uint64_t inner, const uint8_t *packets, size_t bytes);
/* The same for one packet, the @count bytes at @bytes without its tag and
 * length, which are at @offset, or at @inner - 1 of the bundle there. */
void trace_index_packet(struct index_file *index, uint64_t offset,
			uint64_t inner, const uint8_t *bytes, size_t count);

#endif
