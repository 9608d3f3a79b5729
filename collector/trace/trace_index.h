/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_index - passes packets outside of spans to the index of a trace
 * (trace/index_file.h). It parses these packets, which are few.
 *
 * One thread at a time for each index.
 */
#ifndef PERFREC_COLLECTOR_TRACE_TRACE_INDEX_H
#define PERFREC_COLLECTOR_TRACE_TRACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_file;
struct index_tracks;

/* The index being written. All zero: none. */
struct trace_index_to {
	struct index_file *file;
	struct index_tracks *tracks;
};

/* Creates the index file @name in the folder @dir_fd, which the caller owns.
 * Returns 0, and the caller ends *@to with trace_index_close(); or -errno
 * without a file. */
int trace_index_open(int dir_fd, const char *name, struct trace_index_to *to);
/* As index_file_close(). *@to may be all zero, and is so afterwards. */
int trace_index_close(struct trace_index_to *to, bool whole);

/*
 * Passes the @bytes at @packets: whole packets with their Trace.packet tags, at
 * @offset of the trace or, if @inner is not 0, at @inner - 1 of the bundle at
 * @offset. The index gets their sequences and times, and copies of packets
 * without a time.
 */
void trace_index_packets(const struct trace_index_to *to, uint64_t offset,
			 uint64_t inner, const uint8_t *packets, size_t bytes);
/* As trace_index_packets(), for one packet: the @count bytes at @bytes, without
 * its tag and length, at @offset or at @inner - 1 of the bundle there. */
void trace_index_packet(const struct trace_index_to *to, uint64_t offset,
			uint64_t inner, const uint8_t *bytes, size_t count);

#endif
