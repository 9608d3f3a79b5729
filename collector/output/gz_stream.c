/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/output/gz_stream.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define BUFFER_BYTES 65536
#define GZIP_WINDOW (15 + 16)
#define LEVEL 6

struct gz_stream {
	z_stream zlib;
	FILE *to;
	uint8_t bytes[BUFFER_BYTES];
};

static int compress_input(struct gz_stream *gz, int flush)
{
	int result;

	do {
		size_t count;

		gz->zlib.next_out = gz->bytes;
		gz->zlib.avail_out = BUFFER_BYTES;
		result = deflate(&gz->zlib, flush);
		count = BUFFER_BYTES - gz->zlib.avail_out;
		if (fwrite(gz->bytes, 1, count, gz->to) != count)
			return -EIO;
	} while (!gz->zlib.avail_out);
	return result == Z_STREAM_ERROR ? -EIO : 0;
}

static ssize_t gz_write(void *cookie, const char *bytes, size_t count)
{
	struct gz_stream *gz = cookie;

	gz->zlib.next_in = (Bytef *)bytes;
	gz->zlib.avail_in = (uInt)count;
	return compress_input(gz, Z_NO_FLUSH) ? 0 : (ssize_t)count;
}

static int gz_close(void *cookie)
{
	struct gz_stream *gz = cookie;
	int err;

	gz->zlib.avail_in = 0;
	err = compress_input(gz, Z_FINISH);
	deflateEnd(&gz->zlib);
	free(gz);
	return err ? EOF : 0;
}

FILE *gz_stream_open(FILE *to)
{
	static const cookie_io_functions_t functions = { .write = gz_write,
							 .close = gz_close };
	struct gz_stream *gz = calloc(1, sizeof(*gz));
	FILE *stream;

	if (!gz)
		return NULL;
	gz->to = to;
	if (deflateInit2(&gz->zlib, LEVEL, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gz);
		return NULL;
	}
	stream = fopencookie(gz, "w", functions);
	if (stream) {
		setvbuf(stream, NULL, _IOFBF, BUFFER_BYTES);
		return stream;
	}
	deflateEnd(&gz->zlib);
	free(gz);
	return NULL;
}
