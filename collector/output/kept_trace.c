/* SPDX-License-Identifier: Apache-2.0
 *
 * kept_trace - joins a trace that is apart, in one of two ways:
 *
 *   - If the file system can remove a range (FALLOC_FL_COLLAPSE_RANGE), the
 *     packets of trace.head go into the end of the hole, right before the rest
 *     of the trace. The file system removes the rest of the hole. Nothing else
 *     is copied.
 *   - Otherwise both files are copied to a new file piece by piece. Each copied
 *     piece becomes a hole in the old file, so one piece of room is enough.
 *
 * Joining may be killed at any moment; the next call sees the progress in the
 * two files. While the trace still starts with a hole its first byte is 0,
 * which never starts a trace.
 */
#include "collector/output/kept_trace.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/file_at.h"
#include "collector/output/own_files.h"
#include "shared/compiler.h"

static const char magic[8] = "perfhead";

struct kept_header {
	char magic[8];
	uint64_t gone, joining;
};

_Static_assert(sizeof(struct kept_header) == KEPT_HEADER_BYTES,
	       "the header has its size");

#define COPY_BYTES (4u << 20)

static void put_header(uint8_t out[KEPT_HEADER_BYTES], uint64_t gone,
		       bool joining)
{
	struct kept_header header = { .gone = htole64(gone),
				      .joining = htole64(joining) };

	memcpy(header.magic, magic, sizeof(magic));
	memcpy(out, &header, sizeof(header));
}

void kept_trace_put_header(uint8_t out[KEPT_HEADER_BYTES], uint64_t gone)
{
	put_header(out, gone, false);
}

static int write_at(int fd, const void *from, size_t count, uint64_t offset)
{
	const uint8_t *at = from;

	while (count) {
		ssize_t done = pwrite(fd, at, count, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		at += done;
		offset += (uint64_t)done;
		count -= (size_t)done;
	}
	return 0;
}

struct apart {
	int fd, head_fd;
	uint64_t head_bytes, gone, size;
	bool joining;
};

static uint64_t size_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) < 0 ? 0 : (uint64_t)status.st_size;
}

/* Reads the state of both files. Returns 0; -ENODATA: they are joined; or
 * -errno. */
static int look(struct apart *apart)
{
	struct kept_header header;
	uint64_t head_size = size_of(apart->head_fd);
	uint8_t first = 0;
	int err = file_read_at(apart->head_fd, &header, sizeof(header), 0);

	if (err || memcmp(header.magic, magic, sizeof(magic)) != 0)
		return err ?: -EBADMSG;
	apart->gone = le64toh(header.gone);
	apart->joining = le64toh(header.joining);
	apart->head_bytes = head_size - sizeof(header);
	apart->size = size_of(apart->fd);
	err = file_read_at(apart->fd, &first, sizeof(first), 0);
	if (apart->joining && !err && first)
		return -ENODATA;
	if (!apart->gone || apart->gone > INT64_MAX ||
	    apart->size < apart->gone)
		return -EBADMSG;
	return 0;
}

/* --- reading ------------------------------------------------------------- */

static int open_head(const char *path)
{
	static const char name[] = TRACE_NAME;
	size_t length = strlen(path), cut = sizeof(name) - 1;
	char head[PATH_MAX];
	int fd;

	if (length < cut || length >= sizeof(head) ||
	    strcmp(path + length - cut, name) != 0 ||
	    (length > cut && path[length - cut - 1] != '/'))
		return -1;
	snprintf(head, sizeof(head), "%.*s%s", (int)(length - cut), path,
		 HEAD_NAME);
	fd = own_files_open(head);
	return MAX(fd, -1);
}

int kept_trace_open(const char *path, struct kept_trace *out)
{
	struct kept_trace trace = { .head_fd = open_head(path) };
	struct apart apart;

	trace.fd = own_files_open(path);
	if (trace.fd < 0) {
		kept_trace_close(&trace);
		return trace.fd;
	}
	apart = (struct apart){ .fd = trace.fd, .head_fd = trace.head_fd };
	if (trace.head_fd >= 0 && look(&apart)) {
		close(trace.head_fd);
		trace.head_fd = -1;
	}
	trace.bytes = size_of(trace.fd);
	if (trace.head_fd >= 0) {
		trace.head_bytes = apart.head_bytes;
		trace.gone = apart.gone;
		trace.bytes = apart.head_bytes + apart.size - apart.gone;
	}
	*out = trace;
	return 0;
}

void kept_trace_close(struct kept_trace *trace)
{
	if (trace->fd >= 0)
		close(trace->fd);
	if (trace->head_fd >= 0)
		close(trace->head_fd);
}

ssize_t kept_trace_read(const struct kept_trace *trace, void *to, size_t count,
			uint64_t offset)
{
	bool of_head = offset < trace->head_bytes;
	uint64_t at = of_head ? offset + KEPT_HEADER_BYTES
			      : offset - trace->head_bytes + trace->gone;
	ssize_t got;

	if (of_head)
		count = MIN(count, trace->head_bytes - offset);
	do {
		got = pread(of_head ? trace->head_fd : trace->fd, to, count,
			    (off_t)at);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

int kept_trace_copy(const struct kept_trace *trace, uint64_t bytes, FILE *out)
{
	char buffer[64 << 10];
	uint64_t at = 0;

	while (at < bytes && !ferror(out)) {
		ssize_t got = kept_trace_read(
			trace, buffer, MIN(bytes - at, sizeof(buffer)), at);

		if (got <= 0)
			return got ? (int)got : -EBADMSG;
		fwrite(buffer, (size_t)got, 1, out);
		at += (uint64_t)got;
	}
	return 0;
}

bool kept_trace_is_apart(int dir_fd)
{
	return faccessat(dir_fd, HEAD_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- joining ------------------------------------------------------------- */

static int put_head(const struct apart *apart, int fd, uint64_t offset)
{
	uint8_t *piece = malloc(COPY_BYTES);
	int err = piece ? 0 : -ENOMEM;

	for (uint64_t at = 0; !err && at < apart->head_bytes;) {
		size_t count = MIN(COPY_BYTES, apart->head_bytes - at);

		err = file_read_at(apart->head_fd, piece, count,
				   KEPT_HEADER_BYTES + at);
		if (!err)
			err = write_at(fd, piece, count, offset + at);
		at += count;
	}
	free(piece);
	return err;
}

static int make_hole(int fd, uint64_t offset, uint64_t bytes)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 (off_t)offset, (off_t)bytes) < 0
		       ? -errno
		       : 0;
}

/* Joins the files by collapsing the hole, if the file system can. */
static bool collapse(const struct apart *apart)
{
	uint64_t extra = apart->gone - apart->head_bytes;

	if (apart->head_bytes + KEPT_ALIGN > apart->gone ||
	    extra % KEPT_ALIGN || apart->gone == apart->size ||
	    put_head(apart, apart->fd, extra))
		return false;
	return fallocate(apart->fd, FALLOC_FL_COLLAPSE_RANGE, 0,
			 (off_t)extra) == 0;
}

static ssize_t copy_piece(const struct apart *apart, int to, uint64_t from_at,
			  uint64_t to_at, size_t count)
{
	off_t from = (off_t)from_at, end = (off_t)to_at;
	ssize_t done = copy_file_range(apart->fd, &from, to, &end, count, 0);
	uint8_t *piece;
	int err;

	if (done >= 0 || errno == ENOSPC)
		return done < 0 ? -errno : done;
	piece = malloc(count);
	err = piece ? file_read_at(apart->fd, piece, count, from_at) : -ENOMEM;
	if (!err)
		err = write_at(to, piece, count, to_at);
	free(piece);
	return err ?: (ssize_t)count;
}

/* Appends the trace to @to, from the place where an earlier try stopped. */
static int copy_rest(const struct apart *apart, int to)
{
	uint64_t at = size_of(to), from = at - apart->head_bytes + apart->gone;
	uint64_t hole = apart->gone;
	ssize_t done;

	while (from < apart->size) {
		done = copy_piece(apart, to, from, at,
				  MIN(COPY_BYTES, apart->size - from));
		if (done <= 0)
			return done ? (int)done : -EIO;
		at += (uint64_t)done;
		from += (uint64_t)done;
		/* If the machine fails now, one of the copies must survive. */
		if (fdatasync(to) < 0)
			return -errno;
		/* A file system without holes only needs more room. */
		(void)make_hole(apart->fd, hole, from - hole);
		hole = from - from % KEPT_ALIGN;
	}
	return 0;
}

/* @to: the file of an interrupted try, or -1. */
static int copy(int dir_fd, const struct apart *apart, int to)
{
	int err = 0;

	if (to < 0)
		to = own_files_create(dir_fd, TRACE_JOINED_NAME, 0);
	if (to < 0)
		return to;
	if (size_of(to) < apart->head_bytes)
		err = put_head(apart, to, 0);
	if (!err)
		err = copy_rest(apart, to);
	if (close(to) < 0 && !err)
		err = -errno;
	if (err)
		return err;
	return renameat(dir_fd, TRACE_JOINED_NAME, dir_fd, TRACE_NAME) < 0
		       ? -errno
		       : 0;
}

/* Clears the start of the trace, then marks the head: joining has begun. */
static int begin_join(const struct apart *apart)
{
	uint8_t header[KEPT_HEADER_BYTES];

	if (apart->joining)
		return 0;
	if (make_hole(apart->fd, 0, apart->gone)) {
		int err = write_at(apart->fd, "", 1, 0);

		if (err)
			return err;
	}
	put_header(header, apart->gone, true);
	return write_at(apart->head_fd, header, sizeof(header), 0);
}

static int join_segments(int dir_fd, struct apart *apart)
{
	int err = look(apart), to;

	if (err == -ENODATA)
		return 0;
	if (!err)
		err = begin_join(apart);
	if (err)
		return err;
	to = openat(dir_fd, TRACE_JOINED_NAME,
		    O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (to < 0 && collapse(apart))
		return 0;
	return copy(dir_fd, apart, to);
}

int kept_trace_join(int dir_fd)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	struct apart apart = { .head_fd = openat(dir_fd, HEAD_NAME, flags) };
	int err;

	if (apart.head_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	apart.fd = openat(dir_fd, TRACE_NAME, flags);
	err = apart.fd < 0 ? -errno : join_segments(dir_fd, &apart);
	if (!err && unlinkat(dir_fd, HEAD_NAME, 0) < 0)
		err = -errno;
	if (apart.fd >= 0)
		close(apart.fd);
	close(apart.head_fd);
	return err;
}
