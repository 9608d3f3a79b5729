/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_packets - uses read(2) and not mmap(2): if somebody truncates the file
 * meanwhile, SIGBUS must not kill perfrec.
 */
#include "collector/read/trace_packets.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/protobuf.h"
#include "collector/output/kept_trace.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* Bytes per read. The data made from a larger piece would push it out of the
 * cache. */
#define PIECE_BYTES (256u << 10)
/* perfrec's bundles fit at the first try. */
#define UNPACKED_BYTES_MIN (1u << 20)

struct trace_packets {
	struct kept_trace trace;
	uint64_t end; /* place in the file behind the bytes that were read */
	uint64_t stop; /* end of reading, until the next stretch */
	const struct file_stretch *stretches;
	size_t stretch_count;
	uint64_t packet_offset; /* place in the file of the latest packet */
	uint64_t packet_inner;
	uint64_t bad_bundles;
	uint8_t *data;
	uint32_t room;
	struct wire file; /* the rest of data */
	struct wire bundle; /* the rest of the bundle; empty: none */
	uint8_t *unpacked;
	uint32_t unpacked_room;
	struct libdeflate_decompressor *decompressor; /* NULL: no bundle yet */
	bool ended;
	int err; /* if negative, the answer from now on */
	struct read_progress progress; /* .tell may be NULL */
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

static size_t bytes_left(const struct wire *wire)
{
	return (size_t)(wire->end - wire->at);
}

/* Moves to the next stretch. Returns false if there is none. An incomplete
 * packet of @kept bytes at the end of a stretch is damage: reading ends. */
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

/* Reads on until packets->file has at least @wanted bytes, or the file ends. */
static int read_on(struct trace_packets *packets, size_t wanted)
{
	size_t kept = bytes_left(&packets->file);

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

enum taken { TAKEN, TAKE_MORE, TAKE_BAD };

/*
 * Takes a packet off @from, and skips fields of the trace that are not packets.
 * TAKE_MORE: the packet is incomplete, and needs at least @*wanted bytes; @from
 * is unchanged.
 */
static enum taken take(struct wire *from, struct trace_packet_bytes *out,
		       size_t *wanted)
{
	while (from->at < from->end) {
		struct wire ahead = *from;
		uint64_t tag, count;

		if (!wire_varint(&ahead, &tag) ||
		    !wire_varint(&ahead, &count)) {
			*wanted = bytes_left(from) + 1;
			return bytes_left(from) > 2 * VARINT_BYTES_MAX
				       ? TAKE_BAD
				       : TAKE_MORE;
		}
		if ((tag & 7) != TRACE_WIRE_BYTES || tag > UINT32_MAX ||
		    count > TRACE_PACKET_BYTES_MAX)
			return TAKE_BAD;
		if (count > bytes_left(&ahead)) {
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

/* Sets packets->bundle to the packets in @bundle, a zlib stream. Returns 0,
 * -EBADMSG or -ENOMEM. */
static int unpack_packets(struct trace_packets *packets, struct wire bundle)
{
	size_t wanted = UNPACKED_BYTES_MIN, got;
	enum libdeflate_result result;

	if (!packets->decompressor)
		packets->decompressor = libdeflate_alloc_decompressor();
	if (!packets->decompressor)
		return -ENOMEM;
	do {
		if (grow_array(packets->unpacked, packets->unpacked_room,
			       wanted))
			return -ENOMEM;
		result = libdeflate_zlib_decompress(
			packets->decompressor, bundle.at, bytes_left(&bundle),
			packets->unpacked, packets->unpacked_room, &got);
		wanted = (size_t)packets->unpacked_room * 2;
	} while (result == LIBDEFLATE_INSUFFICIENT_SPACE &&
		 wanted <= TRACE_PACKET_BYTES_MAX);
	if (result != LIBDEFLATE_SUCCESS)
		return -EBADMSG;
	packets->bundle =
		(struct wire){ packets->unpacked, packets->unpacked + got };
	return 0;
}

/* Unpacks @packet, the latest one, if it is a bundle. Returns 1 if it is none,
 * 0 if it is, or -ENOMEM. */
static int enter_bundle(struct trace_packets *packets,
			const struct trace_packet_bytes *packet)
{
	struct wire fields = { packet->at, packet->at + packet->count };
	struct wire_field field;
	int err = -EBADMSG;

	do {
		if (!wire_next(&fields, &field))
			return 1;
	} while (field.tag != TAG_TRACE_PACKET_COMPRESSED_PACKETS);
	if (!packets->packet_inner)
		err = unpack_packets(packets, wire_of(&field));
	if (err == -ENOMEM)
		return err;
	packets->bad_bundles += err < 0;
	return 0;
}

/* Returns false at the end of the open bundle, maybe in half a packet. */
static bool next_of_bundle(struct trace_packets *packets,
			   struct trace_packet_bytes *out)
{
	size_t wanted;

	packets->packet_inner =
		(uint64_t)(packets->bundle.at - packets->unpacked) + 1;
	if (take(&packets->bundle, out, &wanted) == TAKEN)
		return true;
	packets->bundle.at = packets->bundle.end;
	return false;
}

int trace_packets_next(struct trace_packets *packets,
		       struct trace_packet_bytes *out)
{
	int got;

	while (!packets->err) {
		if (packets->bundle.at == packets->bundle.end ||
		    !next_of_bundle(packets, out)) {
			got = next_of_file(packets, out);
			if (got <= 0)
				return packets->err = got;
		}
		/* Bundles belong to no sequence, and perfrec's other packets
		 * begin with the number of one. */
		if (likely(out->count &&
			   *out->at ==
				   TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID))
			return 1;
		got = enter_bundle(packets, out);
		if (got > 0)
			return 1;
		packets->err = got;
	}
	return packets->err;
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
	return packets->end - bytes_left(&packets->file);
}

uint64_t trace_packets_bad_bundles(const struct trace_packets *packets)
{
	return packets->bad_bundles;
}

uint64_t trace_packets_size(const struct trace_packets *packets)
{
	return packets->trace.bytes;
}

uint64_t trace_packets_left(const struct trace_packets *packets)
{
	return bytes_left(&packets->file);
}
