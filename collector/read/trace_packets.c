/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_packets - read(2), not mmap(2): a file that somebody cuts short
 * meanwhile must not raise SIGBUS.
 */
#include "collector/read/trace_packets.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/output/kept_trace.h"
#include "collector/read/trace_wire.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* What is read at a time. Larger pieces do not fit the cache beside what is
 * made of them. */
#define PIECE_BYTES (256u << 10)
/* Bundles of perfrec's fit at the first try. */
#define UNPACKED_BYTES_MIN (1u << 20)

struct trace_packets {
	struct kept_trace trace;
	uint64_t end; /* of the bytes that were read, in the file */
	uint64_t stop; /* nothing behind this is read, but for stretches */
	const struct file_stretch *stretches; /* the next ones */
	size_t stretch_count;
	uint64_t packet_offset; /* of the packet that came last, in the file */
	uint64_t packet_inner; /* as in struct packet_place */
	uint8_t *data; /* bytes that were read */
	uint32_t room;
	struct wire file; /* what is left of data */
	struct wire bundle; /* what is left of the bundle; at end: none */
	uint8_t *unpacked;
	uint32_t unpacked_room;
	struct libdeflate_decompressor *decompressor; /* NULL: no bundle yet */
	bool ended; /* the file has no more bytes */
	int err; /* what to answer from now on, if below 0 */
	struct read_progress progress; /* .tell is NULL: nobody is told */
};

int trace_packets_open(const char *path, struct trace_packets **out)
{
	struct trace_packets *packets = calloc(1, sizeof(*packets));
	int err;

	if (!packets)
		return -ENOMEM;
	err = kept_trace_open(path, &packets->trace);
	if (err) {
		free(packets);
		return err;
	}
	posix_fadvise(packets->trace.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	packets->stop = UINT64_MAX;
	*out = packets;
	return 0;
}

void trace_packets_close(struct trace_packets **packets)
{
	struct trace_packets *self = *packets;

	if (!self)
		return;
	kept_trace_close(&self->trace);
	if (self->decompressor)
		libdeflate_free_decompressor(self->decompressor);
	free(self->unpacked);
	free(self->data);
	free(self);
	*packets = NULL;
}

void trace_packets_set_progress(struct trace_packets *packets,
				const struct read_progress *progress)
{
	packets->progress = *progress;
}

static size_t left_of(const struct wire *wire)
{
	return (size_t)(wire->end - wire->at);
}

/* Goes to the next stretch. False: there is none. Half a packet at the end of a
 * stretch, of @kept bytes, is damage: nothing that follows is read. */
static bool next_stretch(struct trace_packets *packets, size_t kept)
{
	if (!packets->stretch_count || kept)
		return false;
	packets->end = packets->stretches->offset;
	packets->stop = packets->stretches->end;
	packets->stretches++;
	packets->stretch_count--;
	return true;
}

void trace_packets_only(struct trace_packets *packets,
			const struct file_stretch *stretches, size_t count)
{
	packets->stretches = stretches;
	packets->stretch_count = count;
	packets->stop = packets->end;
	packets->file = packets->bundle = (struct wire){ 0 };
	packets->ended = false;
	packets->err = 0;
}

/* Reads on, so that there are at least @wanted bytes from packets->file.at on,
 * if the file has them. 0 or -errno. */
static int read_on(struct trace_packets *packets, size_t wanted)
{
	size_t kept = left_of(&packets->file);

	if (kept)
		memmove(packets->data, packets->file.at, kept);
	if (grow_array(packets->data, packets->room,
		       MAX(wanted, (size_t)PIECE_BYTES)))
		return -ENOMEM;
	while (kept < wanted) {
		uint64_t most = MIN((uint64_t)packets->room - kept,
				    packets->stop - packets->end);
		ssize_t got =
			kept_trace_read(&packets->trace, packets->data + kept,
					most, packets->end);

		if (got < 0)
			return (int)got;
		if (!got) {
			packets->ended = !next_stretch(packets, kept);
			break;
		}
		kept += (size_t)got;
		packets->end += (uint64_t)got;
	}
	packets->file = (struct wire){ packets->data, packets->data + kept };
	if (packets->progress.tell)
		packets->progress.tell(packets->progress.to, packets->end,
				       packets->trace.bytes);
	return 0;
}

/* How a try to take a packet ended. */
enum taken { TAKEN, TAKE_MORE, TAKE_BAD };

/*
 * Takes a packet off @from. TAKE_MORE: @from ends in it, and it takes @*wanted
 * bytes at least; then @from is as it was. Fields of a trace that are no
 * packets are left out.
 */
static enum taken take(struct wire *from, struct trace_packet_bytes *out,
		       size_t *wanted)
{
	while (from->at < from->end) {
		struct wire ahead = *from;
		uint64_t tag, count;

		if (!wire_varint(&ahead, &tag) ||
		    !wire_varint(&ahead, &count)) {
			*wanted = left_of(from) + 1;
			return left_of(from) > 2 * VARINT_BYTES_MAX ? TAKE_BAD
								    : TAKE_MORE;
		}
		if ((tag & 7) != TRACE_WIRE_BYTES || tag > UINT32_MAX ||
		    count > TRACE_PACKET_BYTES_MAX)
			return TAKE_BAD;
		if (count > left_of(&ahead)) {
			*wanted = (size_t)(ahead.at - from->at) + count;
			return TAKE_MORE;
		}
		*out = (struct trace_packet_bytes){ ahead.at, count };
		from->at = ahead.at + count;
		if (tag == TAG_TRACE_PACKET)
			return TAKEN;
	}
	*wanted = 1;
	return TAKE_MORE;
}

static int next_of_file(struct trace_packets *packets,
			struct trace_packet_bytes *out)
{
	size_t wanted;

	for (;;) {
		uint64_t offset = trace_packets_at(packets);
		enum taken taken = take(&packets->file, out, &wanted);
		int err;

		if (taken == TAKEN) {
			packets->packet_offset = offset;
			packets->packet_inner = 0;
			return 1;
		}
		if (taken == TAKE_BAD)
			return -EBADMSG;
		if (packets->ended)
			return 0;
		err = read_on(packets, wanted);
		if (err)
			return err;
	}
}

int trace_packets_next(struct trace_packets *packets,
		       struct trace_packet_bytes *out)
{
	size_t wanted;

	if (packets->err)
		return packets->err;
	if (packets->bundle.at != packets->bundle.end) {
		packets->packet_inner =
			(uint64_t)(packets->bundle.at - packets->unpacked) + 1;
		if (take(&packets->bundle, out, &wanted) == TAKEN)
			return 1;
		/* Half a packet in a bundle is nobody's. */
		packets->bundle.at = packets->bundle.end;
	}
	packets->err = next_of_file(packets, out);
	if (packets->err <= 0)
		return packets->err;
	packets->err = 0;
	return 1;
}

int trace_packets_unpack(struct trace_packets *packets, const uint8_t *bundle,
			 size_t count)
{
	size_t wanted = UNPACKED_BYTES_MIN, got;
	enum libdeflate_result result;

	if (packets->bundle.at != packets->bundle.end)
		return -EBADMSG;
	if (!packets->decompressor)
		packets->decompressor = libdeflate_alloc_decompressor();
	if (!packets->decompressor)
		return -ENOMEM;
	do {
		if (grow_array(packets->unpacked, packets->unpacked_room,
			       wanted))
			return -ENOMEM;
		result = libdeflate_zlib_decompress(
			packets->decompressor, bundle, count, packets->unpacked,
			packets->unpacked_room, &got);
		wanted = (size_t)packets->unpacked_room * 2;
	} while (result == LIBDEFLATE_INSUFFICIENT_SPACE &&
		 wanted <= TRACE_PACKET_BYTES_MAX);
	if (result != LIBDEFLATE_SUCCESS)
		return -EBADMSG;
	packets->bundle =
		(struct wire){ packets->unpacked, packets->unpacked + got };
	return 0;
}

bool trace_packets_open_bundle(struct trace_packets *packets,
			       struct wire fields)
{
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_TRACE_PACKET_COMPRESSED_PACKETS) {
			if (field.bytes)
				trace_packets_unpack(packets, field.bytes,
						     field.value);
			return true;
		}
	return false;
}

struct packet_place trace_packets_place(const struct trace_packets *packets)
{
	return (struct packet_place){ packets->packet_offset,
				      packets->packet_inner };
}

int trace_packets_read_at(const struct trace_packets *packets, void *to,
			  size_t count, uint64_t offset)
{
	uint8_t *at = to;

	while (count) {
		ssize_t got =
			kept_trace_read(&packets->trace, at, count, offset);

		if (got <= 0)
			return got ? (int)got : -EBADMSG;
		at += got;
		offset += (uint64_t)got;
		count -= (size_t)got;
	}
	return 0;
}

struct wire *trace_packets_ahead(struct trace_packets *packets)
{
	return packets->bundle.at != packets->bundle.end ? &packets->bundle
							 : &packets->file;
}

uint64_t trace_packets_offset_of(const struct trace_packets *packets,
				 uint64_t offset)
{
	return packets->trace.head_bytes + offset - packets->trace.gone;
}

uint64_t trace_packets_at(const struct trace_packets *packets)
{
	return packets->end - left_of(&packets->file);
}

uint64_t trace_packets_size(const struct trace_packets *packets)
{
	return packets->trace.bytes;
}

uint64_t trace_packets_left(const struct trace_packets *packets)
{
	return left_of(&packets->file);
}
