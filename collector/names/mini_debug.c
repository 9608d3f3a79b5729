/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/mini_debug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/compiler.h"

/* libxul has 3 MiB, packed; xz -9 needs 65 MiB to unpack. */
#define PACKED_BYTES_MAX (64u << 20)
#define BYTES_MAX (128u << 20)
#define MEMORY_BYTES_MAX (96u << 20)
#define STEP_BYTES (64u << 10)

struct unpacking {
	int from, to;
	uint64_t offset, left;
	uint64_t written;
	lzma_stream stream;
	uint8_t in[STEP_BYTES], out[STEP_BYTES];
};

static int read_packed_bytes(struct unpacking *unpacking)
{
	size_t bytes = MIN(unpacking->left, STEP_BYTES);
	ssize_t got;

	if (unpacking->stream.avail_in || !bytes)
		return 0;
	do
		got = pread(unpacking->from, unpacking->in, bytes,
			    (off_t)unpacking->offset);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got ? -errno : -EBADMSG;
	unpacking->offset += (uint64_t)got;
	unpacking->left -= (uint64_t)got;
	unpacking->stream.next_in = unpacking->in;
	unpacking->stream.avail_in = (size_t)got;
	return 0;
}

static int write_unpacked_bytes(struct unpacking *unpacking)
{
	size_t bytes = STEP_BYTES - unpacking->stream.avail_out, done = 0;

	unpacking->written += bytes;
	if (unpacking->written > BYTES_MAX)
		return -EFBIG;
	while (done < bytes) {
		ssize_t put = write(unpacking->to, unpacking->out + done,
				    bytes - done);

		if (put < 0 && errno != EINTR)
			return -errno;
		done += (size_t)MAX(put, 0);
	}
	unpacking->stream.next_out = unpacking->out;
	unpacking->stream.avail_out = STEP_BYTES;
	return 0;
}

static int errno_of_lzma(lzma_ret result)
{
	switch (result) {
	case LZMA_OK:
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EBADMSG;
	}
}

static int unpack_file(struct unpacking *unpacking)
{
	lzma_stream *stream = &unpacking->stream;
	lzma_ret result = lzma_stream_decoder(stream, MEMORY_BYTES_MAX, 0);
	int err = errno_of_lzma(result);

	stream->next_out = unpacking->out;
	stream->avail_out = STEP_BYTES;
	while (!err && result != LZMA_STREAM_END) {
		err = read_packed_bytes(unpacking);
		if (err)
			break;
		/* no input and no end: LZMA_BUF_ERROR the second time */
		result = lzma_code(stream, LZMA_RUN);
		err = errno_of_lzma(result);
		if (!err)
			err = write_unpacked_bytes(unpacking);
	}
	lzma_end(stream);
	return err;
}

int mini_debug_open(int fd, uint64_t offset, uint64_t bytes)
{
	struct unpacking *unpacking;
	int err;

	if (bytes > PACKED_BYTES_MAX || offset > INT64_MAX - bytes)
		return -EFBIG;
	unpacking = calloc(1, sizeof(*unpacking));
	if (!unpacking)
		return -ENOMEM;
	unpacking->stream = (lzma_stream)LZMA_STREAM_INIT;
	unpacking->from = fd;
	unpacking->offset = offset;
	unpacking->left = bytes;
	unpacking->to = memfd_create("perfrec-symbols", MFD_CLOEXEC);
	err = unpacking->to < 0 ? -errno : unpack_file(unpacking);
	fd = unpacking->to;
	free(unpacking);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}
