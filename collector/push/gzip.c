/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/gzip.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <libdeflate.h>

/* The header, and the checksum and size behind the data. */
#define GZIP_BYTES_MIN 18

/* Kept for the next: NULL, none yet. */
static struct libdeflate_compressor *g_packers[GZIP_LEVELS];
static struct libdeflate_decompressor *g_unpacker;

int gzip_put(const void *from, size_t count, int level, struct bytes *out)
{
	struct libdeflate_compressor **packer = &g_packers[level];
	const size_t before = out->count;
	size_t room, made = 0;
	void *to;

	if (!*packer)
		*packer = libdeflate_alloc_compressor(level);
	if (!*packer)
		return -ENOMEM;
	room = libdeflate_gzip_compress_bound(*packer, count);
	to = bytes_add(out, room);
	if (to)
		made = libdeflate_gzip_compress(*packer, from, count, to, room);
	out->count = before + made;
	return made ? 0 : -ENOMEM;
}

/* The size that the stream says it has; 0: it is too short to be one. */
static size_t told_bytes(const uint8_t *from, size_t count)
{
	uint32_t bytes = 0;

	if (count >= GZIP_BYTES_MIN)
		memcpy(&bytes, from + count - sizeof(bytes), sizeof(bytes));
	return le32toh(bytes);
}

int gzip_get(const void *from, size_t count, size_t most, struct bytes *out)
{
	const size_t room = told_bytes(from, count), before = out->count;
	enum libdeflate_result result = LIBDEFLATE_BAD_DATA;
	size_t used = 0;
	uint8_t *to;

	if (!room || room > most)
		return -EBADMSG;
	if (!g_unpacker)
		g_unpacker = libdeflate_alloc_decompressor();
	to = g_unpacker ? bytes_add(out, room) : NULL;
	if (!to)
		return -ENOMEM;
	result = libdeflate_gzip_decompress_ex(g_unpacker, from, count, to,
					       room, &used, NULL);
	if (!result && used == count)
		return 0;
	out->count = before;
	return -EBADMSG;
}
