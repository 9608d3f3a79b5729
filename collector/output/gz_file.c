/* SPDX-License-Identifier: Apache-2.0
 *
 * gz_file - most files are small: they are gathered whole, and libdeflate
 * compresses them at once. zlib compresses larger files as they come.
 */
#include "collector/output/gz_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libdeflate.h>
#include <zlib.h>

#include "collector/base/bytes.h"
#include "collector/output/own_files.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define BUFFER_BYTES (56 * 1024)
#define PACKED_BYTES (BUFFER_BYTES + 1024)
#define NAME_BYTES 128
/* For deflateInit2(): the largest window, and + 16 for a gzip header. */
#define WINDOW_BITS (15 + 16)
#define MEMORY_LEVEL 8
/* Measured with the profile of a Lua run, 2.0 MB: level 6 takes 21 ms for 175
 * KB, 3 takes 8 ms for 201 KB, 1 takes 7 ms. From 4 on zlib matches lazily. */
#define LEVEL 3

/* The level of libdeflate for small files. A window of 18 KB shrinks to 5.1 KB
 * in 67 us; level 1 needs 41 us for 5.7 KB, and zlib 232 us for 5.3 KB. */
#define SMALL_LEVEL 2

struct gz_file {
	int dir_fd, fd;
	struct bytes *to; /* instead of a file, or NULL */
	int err;
	bool is_stream; /* zlib compresses: @stream is valid */
	z_stream stream;
	char name[NAME_BYTES];
	uint8_t *buffer; /* PACKED_BYTES of compressed output; NULL: not yet */
	size_t gathered_bytes;
	/* Input, which is not cleared. zlib computes a checksum per piece of
	 * input, which is slow for small pieces. */
	uint8_t gathered[BUFFER_BYTES];
};

/* Not cleared. NULL: no memory. */
static struct gz_file *new_file(void)
{
	struct gz_file *file = malloc(sizeof(*file));

	if (file)
		memset(file, 0, offsetof(struct gz_file, gathered));
	return file;
}

static int open_file(struct gz_file *file, const char *name)
{
	int length;

	if (!name) {
		file->fd = fcntl(file->dir_fd, F_DUPFD_CLOEXEC, 0);
		return file->fd < 0 ? -errno : 0;
	}
	length = snprintf(file->name, sizeof(file->name), "%s", name);
	if (length < 0 || (size_t)length >= sizeof(file->name))
		return -ENAMETOOLONG;
	file->fd = own_files_create(file->dir_fd, name, 0);
	return MIN(file->fd, 0);
}

int gz_file_new(int dir_fd, const char *name, struct gz_file **out)
{
	struct gz_file *file = new_file();
	int err;

	if (!file)
		return -ENOMEM;
	file->dir_fd = dir_fd;
	err = open_file(file, name);
	if (err)
		free(file);
	else
		*out = file;
	return err;
}

int gz_file_new_in(struct bytes *to, struct gz_file **out)
{
	struct gz_file *file = new_file();

	if (!file)
		return -ENOMEM;
	file->fd = -1;
	file->to = to;
	*out = file;
	return 0;
}

static int put_output(struct gz_file *file, const uint8_t *bytes, size_t size)
{
	ssize_t done;

	if (file->to) {
		bytes_put(file->to, bytes, size);
		return file->to->failed ? -ENOMEM : 0;
	}
	while (size) {
		done = write(file->fd, bytes, size);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		bytes += done;
		size -= (size_t)done;
	}
	return 0;
}

static bool make_buffer(struct gz_file *file)
{
	if (!file->buffer)
		file->buffer = malloc(PACKED_BYTES);
	if (!file->buffer)
		file->err = -ENOMEM;
	return file->buffer;
}

/* --- a large file -------------------------------------------------------- */

static void begin_stream(struct gz_file *file)
{
	z_stream *stream = &file->stream;

	if (file->is_stream || file->err || !make_buffer(file))
		return;
	if (deflateInit2(stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		file->err = -ENOMEM;
		return;
	}
	file->is_stream = true;
	stream->next_out = file->buffer;
	stream->avail_out = PACKED_BYTES;
}

static void empty_buffer(struct gz_file *file)
{
	z_stream *stream = &file->stream;

	file->err = put_output(file, file->buffer,
			       PACKED_BYTES - stream->avail_out);
	stream->next_out = file->buffer;
	stream->avail_out = PACKED_BYTES;
}

static void deflate_bytes(struct gz_file *file, const void *bytes, size_t size)
{
	z_stream *stream = &file->stream;

	/* zlib's type lacks a const. */
	stream->next_in = (Bytef *)(uintptr_t)bytes;
	stream->avail_in = (uInt)size;
	while (!file->err && stream->avail_in) {
		deflate(stream, Z_NO_FLUSH);
		if (!stream->avail_out)
			empty_buffer(file);
	}
}

static void deflate_gathered(struct gz_file *file)
{
	begin_stream(file);
	deflate_bytes(file, file->gathered, file->gathered_bytes);
	file->gathered_bytes = 0;
}

/* --- a small file -------------------------------------------------------- */

/* Kept for the next file: its 0.4 MB would be cleared anew for each. NULL: none
 * was made yet, or a thread has it. */
static struct libdeflate_compressor *g_packer;

/* Compresses the gathered file. Returns the number of bytes in the buffer, or 0
 * without memory. */
static size_t pack_gathered(struct gz_file *file)
{
	struct libdeflate_compressor *packer;
	size_t packed = 0;

	if (!make_buffer(file))
		return 0;
	/* order: sc, PACKER: no other thread has it from now on */
	packer = atom_xchg_sc(&g_packer, NULL);
	if (!packer)
		packer = libdeflate_alloc_compressor(SMALL_LEVEL);
	if (!packer)
		return 0;
	packed = libdeflate_gzip_compress(packer, file->gathered,
					  file->gathered_bytes, file->buffer,
					  PACKED_BYTES);
	/* order: sc, PACKER: its next thread sees what this one wrote */
	packer = atom_xchg_sc(&g_packer, packer);
	if (packer)
		libdeflate_free_compressor(packer);
	return packed;
}

/* ------------------------------------------------------------------------- */

int gz_file_write(struct gz_file *file, const void *bytes, size_t size)
{
	if (size > sizeof(file->gathered) - file->gathered_bytes)
		deflate_gathered(file);
	if (size > sizeof(file->gathered)) {
		deflate_bytes(file, bytes, size);
	} else if (size) {
		memcpy(file->gathered + file->gathered_bytes, bytes, size);
		file->gathered_bytes += size;
	}
	return file->err;
}

static void finish_stream(struct gz_file *file)
{
	int state = Z_OK;

	deflate_gathered(file);
	while (!file->err && state != Z_STREAM_END) {
		state = deflate(&file->stream, Z_FINISH);
		empty_buffer(file);
	}
}

static void finish_file(struct gz_file *file)
{
	const bool is_plain = file->to && !file->is_stream &&
			      file->gathered_bytes <= GZ_FILE_PLAIN_BYTES;
	const size_t packed =
		file->is_stream || is_plain ? 0 : pack_gathered(file);

	if (is_plain)
		file->err =
			put_output(file, file->gathered, file->gathered_bytes);
	else if (packed)
		file->err = put_output(file, file->buffer, packed);
	else
		finish_stream(file);
}

int gz_file_close(struct gz_file **file, int err)
{
	struct gz_file *old = *file;

	*file = NULL;
	if (!err && !old->err)
		finish_file(old);
	err = err ? err : old->err;
	if (old->fd >= 0 && close(old->fd) < 0 && !err)
		err = -errno;
	if (err && old->name[0])
		own_files_discard(old->dir_fd, old->name);
	else if (old->name[0])
		err = own_files_keep(old->dir_fd, old->name);
	if (old->is_stream)
		deflateEnd(&old->stream);
	free(old->buffer);
	free(old);
	return err;
}
