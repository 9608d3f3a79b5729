/* SPDX-License-Identifier: Apache-2.0
 *
 * spool - each text has a stream with a buffer. A full buffer is appended to
 * the file as a chunk, and the text stores its position.
 */
#include "collector/export/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "shared/compiler.h"

#define BUFFER_BYTES 16384
#define COPY_BYTES 65536

struct chunk {
	uint64_t at;
	size_t bytes;
};

struct spool_text {
	struct spool *spool;
	FILE *stream;
	struct chunk *chunks;
	uint32_t count, room;
};

struct spool {
	int fd;
	int err;
	uint64_t size;
	struct spool_text **texts; /* by number; may be NULL */
	uint32_t room;
};

static int open_temporary(void)
{
	const char *folder = getenv("TMPDIR");
	char *path;
	int fd, err;

	if (asprintf(&path, "%s/perfrec-XXXXXX",
		     folder && folder[0] ? folder : "/tmp") < 0)
		return -ENOMEM;
	fd = mkstemp(path);
	err = -errno;
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd < 0 ? err : fd;
}

int spool_new(struct spool **out)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	int err;

	if (!spool)
		return -ENOMEM;
	spool->fd = open_temporary();
	if (spool->fd < 0) {
		err = spool->fd;
		free(spool);
		return err;
	}
	*out = spool;
	return 0;
}

void spool_free(struct spool **spool_ptr)
{
	struct spool *spool = *spool_ptr;

	*spool_ptr = NULL;
	if (!spool)
		return;
	for (uint32_t i = 0; i < spool->room; i++) {
		if (!spool->texts[i])
			continue;
		if (spool->texts[i]->stream)
			fclose(spool->texts[i]->stream);
		free(spool->texts[i]->chunks);
		free(spool->texts[i]);
	}
	close(spool->fd);
	free(spool->texts);
	free(spool);
}

static int append(struct spool *spool, const char *bytes, size_t count)
{
	while (count) {
		ssize_t written =
			pwrite(spool->fd, bytes, count, (off_t)spool->size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -ENOSPC;
		bytes += written;
		count -= (size_t)written;
		spool->size += (uint64_t)written;
	}
	return 0;
}

static ssize_t write_chunk(void *cookie, const char *bytes, size_t count)
{
	struct spool_text *text = cookie;
	struct spool *spool = text->spool;
	struct chunk chunk = { spool->size, count };

	if (!spool->err)
		spool->err = append(spool, bytes, count);
	if (!spool->err &&
	    grow_array(text->chunks, text->room, text->count + 1))
		spool->err = -ENOMEM;
	if (spool->err)
		return 0;
	text->chunks[text->count++] = chunk;
	return (ssize_t)count;
}

static struct spool_text *new_text(struct spool *spool)
{
	struct spool_text *text = calloc(1, sizeof(*text));

	if (!text)
		return NULL;
	text->spool = spool;
	text->stream = fopencookie(
		text, "w", (cookie_io_functions_t){ .write = write_chunk });
	if (text->stream) {
		setvbuf(text->stream, NULL, _IOFBF, BUFFER_BYTES);
		return text;
	}
	free(text);
	return NULL;
}

FILE *spool_stream(struct spool *spool, uint32_t number)
{

	if (grow_array_zeroed(spool->texts, spool->room, number + 1))
		return NULL;
	if (!spool->texts[number])
		spool->texts[number] = new_text(spool);
	return spool->texts[number] ? spool->texts[number]->stream : NULL;
}

static int copy_chunk(const struct spool *spool, struct chunk chunk, FILE *out)
{
	char bytes[COPY_BYTES];

	while (chunk.bytes) {
		ssize_t got =
			pread(spool->fd, bytes, MIN(chunk.bytes, sizeof(bytes)),
			      (off_t)chunk.at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		fwrite_unlocked(bytes, 1, (size_t)got, out);
		chunk.at += (uint64_t)got;
		chunk.bytes -= (size_t)got;
	}
	return 0;
}

int spool_copy(struct spool *spool, uint32_t number, FILE *out)
{
	struct spool_text *text =
		number < spool->room ? spool->texts[number] : NULL;
	int err = 0;

	if (text)
		fflush(text->stream);
	if (spool->err)
		return spool->err;
	for (uint32_t i = 0; text && i < text->count && !err; i++)
		err = copy_chunk(spool, text->chunks[i], out);
	return err;
}
