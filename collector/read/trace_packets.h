/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_packets - the packets of a trace, in the order of the file. Bundles
 * (compressed_packets) are unpacked. The file may come from anywhere and may be
 * of any size: it is read piece by piece, and memory is bounded. One thread at
 * a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_PACKETS_H
#define PERFREC_COLLECTOR_READ_TRACE_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/trace_wire.h"

/* A packet, or a bundle when unpacked, that is larger is damage. Those that
 * perfrec writes have 512 KiB at most. */
#define TRACE_PACKET_BYTES_MAX (16u << 20)

struct trace_packets;

struct trace_packet_bytes {
	const uint8_t *at;
	size_t count;
};

/* Whom to tell, now and then, that @at of the @size bytes of the file were
 * read. */
struct read_progress {
	void (*tell)(void *to, uint64_t at, uint64_t size);
	void *to;
};

/* Opens the trace at @path. Returns 0; the caller then owns *@out and ends it
 * by trace_packets_close(). Or returns -errno, of which own_files_open() has
 * some; then *@out is as it was. Logs nothing. */
int trace_packets_open(const char *path, struct trace_packets **out);
/* Closes the file, frees *@packets, which may be NULL, and clears it. */
void trace_packets_close(struct trace_packets **packets);

/* Has @progress told from now on: after each piece that is read. */
void trace_packets_set_progress(struct trace_packets *packets,
				const struct read_progress *progress);

/*
 * The next packet, without its tag and length. Returns 1: it is *@out, until
 * the next call; 0: that was all, or what is left is less than a packet
 * (trace_packets_left()); -EBADMSG: from here on the file is no trace; or
 * another -errno of reading or for want of memory. After a value below 1 the
 * same comes again.
 */
int trace_packets_next(struct trace_packets *packets,
		       struct trace_packet_bytes *out);
/*
 * Unpacks the @count bytes at @bundle, a zlib stream, which are in the packet
 * that came last: the packets in it are the next ones. Returns 0; -EBADMSG: it
 * cannot be unpacked, or lies in a bundle; or -ENOMEM. Then the file goes on
 * after it.
 */
int trace_packets_unpack(struct trace_packets *packets, const uint8_t *bundle,
			 size_t count);

/* If the packet that came last, whose fields are @fields, is a bundle, unpacks
 * it, as far as that works. Returns whether it is one. */
bool trace_packets_open_bundle(struct trace_packets *packets,
			       struct wire fields);

/* Where a packet lies. Places are in the order of the file. */
struct packet_place {
	uint64_t offset; /* in the file: of it, or of the bundle that has it */
	uint64_t inner; /* offset in the unpacked bundle + 1; 0: no bundle */
};

static inline bool packet_place_before(struct packet_place a,
				       struct packet_place b)
{
	return a.offset != b.offset ? a.offset < b.offset : a.inner < b.inner;
}

/* Where the packet that came last is. */
struct packet_place trace_packets_place(const struct trace_packets *packets);

/* A part of the file that begins and ends with whole packets. */
struct file_stretch {
	uint64_t offset, end;
};

/* Packets that were read already, or unpacked, and are the next ones; maybe
 * none, and the last one may be cut. Who knows some of them takes them off,
 * whole and with their tags, by moving at; until the next call. */
struct wire *trace_packets_ahead(struct trace_packets *packets);

/* Where the byte is that lies at @offset of the file, which may be apart
 * (output/kept_trace.h). */
uint64_t trace_packets_offset_of(const struct trace_packets *packets,
				 uint64_t offset);

/* Only the @count @stretches are read, which are in the order of the file and
 * do not overlap; they must outlive @packets. What was read is forgotten. */
void trace_packets_only(struct trace_packets *packets,
			const struct file_stretch *stretches, size_t count);

/* Reads the @count bytes at @offset of the file to @to, whatever the packets
 * are at. 0 or -errno; -EBADMSG: the file has fewer. */
int trace_packets_read_at(const struct trace_packets *packets, void *to,
			  size_t count, uint64_t offset);

/* How many bytes of the file the packets up to now took. */
uint64_t trace_packets_at(const struct trace_packets *packets);
/* How many bytes the file had when it was opened. */
uint64_t trace_packets_size(const struct trace_packets *packets);
/* At the end: how many bytes of a packet that was cut there are. */
uint64_t trace_packets_left(const struct trace_packets *packets);

#endif
