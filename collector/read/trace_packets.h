/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_packets - reads the packets of a trace in the order of the file, and
 * unpacks bundles (compressed_packets). The file may be hostile and of any
 * size: it is read piece by piece, and memory is bounded. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_PACKETS_H
#define PERFREC_COLLECTOR_READ_TRACE_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/protobuf.h"

/* A larger packet or unpacked bundle is damage. perfrec writes at most 512
 * KiB. */
#define TRACE_PACKET_BYTES_MAX (16u << 20)

struct trace_packets;

struct trace_packet_bytes {
	const uint8_t *at;
	size_t count;
};

/* A callback for progress: @at of the @size bytes of the file were read. */
struct read_progress {
	void (*tell)(void *to, uint64_t at, uint64_t size);
	void *to;
};

/* Opens the trace at @path. Returns 0, and the caller ends *@out with
 * trace_packets_close(). Otherwise returns -errno (see own_files_open()), and
 * *@out is unchanged. Logs nothing. */
int trace_packets_open(const char *path, struct trace_packets **out);
/* Closes the file, frees *@packets, which may be NULL, and clears it. */
void trace_packets_close(struct trace_packets **packets);

/* Calls @progress after each piece that is read, from now on. */
void trace_packets_set_progress(struct trace_packets *packets,
				const struct read_progress *progress);

/*
 * Reads the next packet, without its tag and length. Returns the packets inside
 * a bundle instead of the bundle, unless it begins with the number of a
 * sequence. Returns 1, and *@out is valid until the next call; 0: the end,
 * maybe inside a packet (trace_packets_left()); -EBADMSG: the rest of the file
 * is not a trace; or another -errno of reading or of memory. A value below 1 is
 * returned again by all later calls.
 */
int trace_packets_next(struct trace_packets *packets,
		       struct trace_packet_bytes *out);
/* Returns the number of bundles that were skipped: they are damaged, or lie in
 * a bundle. */
uint64_t trace_packets_bad_bundles(const struct trace_packets *packets);

/* The place of a packet. Places are in the order of the file. */
struct packet_place {
	uint64_t offset; /* of the packet or its bundle in the file */
	uint64_t inner; /* offset in the unpacked bundle + 1; 0: no bundle */
};

static inline bool packet_place_before(struct packet_place a,
				       struct packet_place b)
{
	return a.offset != b.offset ? a.offset < b.offset : a.inner < b.inner;
}

/* Returns the place of the latest packet. */
struct packet_place trace_packets_place(const struct trace_packets *packets);

/* A part of the file that starts and ends with whole packets. */
struct file_stretch {
	uint64_t offset, end;
};

/* Returns the next packets in memory, with their tags; maybe none, and the last
 * may be incomplete. Until the next call, a caller may consume whole packets by
 * moving .at. */
struct wire *trace_packets_ahead(struct trace_packets *packets);

/* Returns the place in the joined trace of @offset of the file, which may be
 * apart (output/kept_trace.h). */
uint64_t trace_packets_offset_of(const struct trace_packets *packets,
				 uint64_t offset);

/* Restricts reading to the @count @stretches, which are in the order of the
 * file, do not overlap, and must outlive @packets. Drops bytes in memory. */
void trace_packets_only(struct trace_packets *packets,
			const struct file_stretch *stretches, size_t count);

/* Reads the @count bytes at @offset of the file to @to, without moving the
 * packets. Returns 0 or -errno; -EBADMSG: the file is shorter. */
int trace_packets_read_at(const struct trace_packets *packets, void *to,
			  size_t count, uint64_t offset);

/* Returns the place in the file behind the packets so far. */
uint64_t trace_packets_at(const struct trace_packets *packets);
/* Returns the size of the file when it was opened. */
uint64_t trace_packets_size(const struct trace_packets *packets);
/* Returns the bytes of an incomplete packet at the end. */
uint64_t trace_packets_left(const struct trace_packets *packets);

#endif
