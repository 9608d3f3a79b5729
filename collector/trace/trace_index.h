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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_file;
struct index_tracks;

/* An index that is written. All zero: there is none. */
struct trace_index_to {
	struct index_file *file; /* NULL: none */
	struct index_tracks *tracks;
};

/* Makes the index file called @name in the folder @dir_fd, which stays the
 * caller's. 0: the caller ends *@to by trace_index_close(); or -errno, and
 * there is no file. */
int trace_index_open(int dir_fd, const char *name, struct trace_index_to *to);
/* As index_file_close(); *@to may be all zero, and is so afterwards. */
int trace_index_close(struct trace_index_to *to, bool whole);

/*
 * The @bytes at @packets, which are whole packets with their Trace.packet tags,
 * are in the trace at @offset; or, if @inner is not 0, in the bundle at
 * @offset, @inner - 1 bytes from its begin. The index is told of their
 * sequences and times, and gets a copy of those that have no time.
 */
void trace_index_packets(const struct trace_index_to *to, uint64_t offset,
			 uint64_t inner, const uint8_t *packets, size_t bytes);
/* The same for one packet, the @count bytes at @bytes without its tag and
 * length, which are at @offset, or at @inner - 1 of the bundle there. */
void trace_index_packet(const struct trace_index_to *to, uint64_t offset,
			uint64_t inner, const uint8_t *bytes, size_t count);

#endif
