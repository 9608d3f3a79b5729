/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/cut/cut_file.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>

#define COMPRESSION_LEVEL 1 /* as of a recording */
/* Perfetto takes a bundle of less than 512 KB, packed and unpacked. */
#define BUNDLE_BYTES (500u << 10)

int cut_file_begin(struct cut_file *file, FILE *out, bool compress)
{
	*file = (struct cut_file){ .out = out };
	if (!compress)
		return 0;
	file->compressor = libdeflate_alloc_compressor(COMPRESSION_LEVEL);
	if (!file->compressor)
		return -ENOMEM;
	file->packed_room =
		libdeflate_zlib_compress_bound(file->compressor, BUNDLE_BYTES);
	file->packed = malloc(file->packed_room);
	if (file->packed)
		return 0;
	libdeflate_free_compressor(file->compressor);
	return -ENOMEM;
}

static void write_bytes(struct cut_file *file, const void *bytes, size_t count)
{
	if (file->err || !count)
		return;
	errno = 0;
	if (fwrite(bytes, 1, count, file->out) != count)
		file->err = errno ? -errno : -EIO;
	else
		file->bytes += count;
}

/* Writes what is pending as one packet: a zlib stream of all its packets. */
static void write_bundle(struct cut_file *file)
{
	uint8_t head[2 * (2 + VARINT_BYTES_MAX)], *end, inner[16], *inner_end;
	size_t bytes = libdeflate_zlib_compress(
		file->compressor, file->pending.at, file->pending.count,
		file->packed, file->packed_room);

	if (!bytes) {
		file->err = file->err ? file->err : -EIO;
		return;
	}
	inner_end = varint_put(inner, TAG_TRACE_PACKET_COMPRESSED_PACKETS);
	inner_end = varint_put(inner_end, bytes);
	*head = TAG_TRACE_PACKET;
	end = varint_put(head + 1, (size_t)(inner_end - inner) + bytes);
	write_bytes(file, head, (size_t)(end - head));
	write_bytes(file, inner, (size_t)(inner_end - inner));
	write_bytes(file, file->packed, bytes);
}

void cut_file_write_pending(struct cut_file *file)
{
	struct bytes *pending = &file->pending;

	if (pending->failed && !file->err)
		file->err = -ENOMEM;
	/* A packet that is larger than any of perfrec's stays as it is. */
	if (file->compressor && pending->count &&
	    pending->count <= BUNDLE_BYTES)
		write_bundle(file);
	else
		write_bytes(file, pending->at, pending->count);
	bytes_clear(pending);
}

int cut_file_end(struct cut_file *file)
{
	int err;

	cut_file_write_pending(file);
	if (!file->err && fflush(file->out))
		file->err = -errno;
	err = file->err;
	if (file->compressor)
		libdeflate_free_compressor(file->compressor);
	free(file->packed);
	bytes_release(&file->pending);
	return err;
}
