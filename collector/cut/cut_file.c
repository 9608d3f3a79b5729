/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/cut/cut_file.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>

#include "collector/cut/cut_pack.h"
#include "collector/trace/packet.h"

/* Perfetto accepts bundles below 512 KB, packed and unpacked. */
#define BUNDLE_BYTES (500u << 10)

int cut_file_begin(struct cut_file *file, FILE *out, bool compress)
{
	*file = (struct cut_file){ .out = out };
	if (!compress)
		return 0;
	file->compressor = libdeflate_alloc_compressor(CUT_COMPRESSION_LEVEL);
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

static void write_packed(struct cut_file *file, const struct cut_packed *packed)
{
	uint8_t head[PACKET_BUNDLE_HEAD_MAX], *end;

	if (!packed->bytes) {
		file->err = file->err ? file->err : -EIO;
		return;
	}
	end = packet_put_bundle_head(head, packed->bytes);
	write_bytes(file, head, (size_t)(end - head));
	write_bytes(file, packed->at, packed->bytes);
}

/* Writes compressed bundles: all, or until there is room for one more. */
static void write_done(struct cut_file *file, bool all)
{
	struct cut_packed packed;

	while (file->pack && cut_pack_take(file->pack, all, &packed))
		write_packed(file, &packed);
}

/* Returns true if threads compress bundles. For a small file they would take
 * longer. */
static bool has_threads(struct cut_file *file)
{
	if (!file->bundles++)
		return false;
	if (file->bundles == 2)
		(void)cut_pack_new(BUNDLE_BYTES, &file->pack);
	return file->pack;
}

static void write_bundle(struct cut_file *file)
{
	struct bytes *pending = &file->pending;
	struct cut_packed packed = { .at = file->packed };

	if (has_threads(file)) {
		write_done(file, false);
		cut_pack_put(file->pack, pending);
		return;
	}
	packed.bytes = libdeflate_zlib_compress(file->compressor, pending->at,
						pending->count, file->packed,
						file->packed_room);
	write_packed(file, &packed);
}

void cut_file_write_pending(struct cut_file *file)
{
	struct bytes *pending = &file->pending;

	if (pending->failed && !file->err)
		file->err = -ENOMEM;
	/* A packet larger than any of perfrec's stays plain. */
	if (file->compressor && pending->count &&
	    pending->count <= BUNDLE_BYTES) {
		write_bundle(file);
	} else {
		write_done(file, true);
		write_bytes(file, pending->at, pending->count);
	}
	bytes_clear(pending);
}

int cut_file_end(struct cut_file *file)
{
	int err;

	cut_file_write_pending(file);
	write_done(file, true);
	cut_pack_free(&file->pack);
	if (!file->err && fflush(file->out))
		file->err = -errno;
	err = file->err;
	if (file->compressor)
		libdeflate_free_compressor(file->compressor);
	free(file->packed);
	bytes_release(&file->pending);
	return err;
}
