/* SPDX-License-Identifier: Apache-2.0
 *
 * kept_trace - a trace of which only the newest part is kept (--keep last)
 * while it is recorded. It is apart then, in two files: of trace.pftrace the
 * first bytes are gone, which are a hole; trace.head has what a reader needs in
 * their place, and says how many they are. When the recording has ended, they
 * are joined. To read the trace, it does not matter whether they are: the bytes
 * are the same, at the same offsets.
 *
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_KEPT_TRACE_H
#define PERFREC_COLLECTOR_OUTPUT_KEPT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/output/own_files.h"

/* What trace.head begins with, before packets: a magic, how many bytes of the
 * trace are gone, and 1 if joining has begun; little-endian. */
#define KEPT_HEADER_BYTES HEAD_HEADER_BYTES
/* The packets of trace.head end at such a place that the bytes in front of the
 * trace that are too many are a multiple of this: a file system may take them
 * out without copying the rest. */
#define KEPT_ALIGN 4096

/* Writes the header at @out. */
void kept_trace_put_header(uint8_t out[KEPT_HEADER_BYTES], uint64_t gone);

/* A trace that is read, apart or not. */
struct kept_trace {
	int fd;
	int head_fd; /* -1: it is not apart */
	uint64_t head_bytes; /* of packets */
	uint64_t gone; /* bytes of the file */
	uint64_t bytes; /* of all */
};

/* Opens the trace at @path. 0: the caller ends it by kept_trace_close(); or
 * -errno, of which own_files_open() has some. Logs nothing. */
int kept_trace_open(const char *path, struct kept_trace *out);
void kept_trace_close(struct kept_trace *trace);
/* As pread(2), but -errno. */
ssize_t kept_trace_read(const struct kept_trace *trace, void *to, size_t count,
			uint64_t offset);

/* Whether the trace in the folder @dir_fd is apart. */
bool kept_trace_is_apart(int dir_fd);
/* Makes one file of the trace in the folder @dir_fd, if it is apart. Nobody
 * writes it. If it is killed, or fails, it can be called again. 0 or -errno. */
int kept_trace_join(int dir_fd);

#endif
