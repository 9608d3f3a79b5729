/* SPDX-License-Identifier: Apache-2.0
 *
 * kept_trace - a trace that keeps only its newest part while it is recorded
 * (--keep last). Such a trace is apart, in two files. The start of
 * trace.pftrace is a hole. trace.head has the packets that replace the hole for
 * a reader, and the size of the hole. The collector joins the files when the
 * recording ends. Readers see the same bytes at the same offsets before and
 * after.
 *
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_KEPT_TRACE_H
#define PERFREC_COLLECTOR_OUTPUT_KEPT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "collector/output/own_files.h"

/* The header of trace.head, in front of its packets: a magic, the number of
 * bytes that trace.pftrace lost, and 1 once joining has begun;
 * little-endian. */
#define KEPT_HEADER_BYTES HEAD_HEADER_BYTES
/* The packets of trace.head end where the surplus of the hole is a multiple of
 * this. A file system can remove such a range without copying the rest. */
#define KEPT_ALIGN 4096

void kept_trace_put_header(uint8_t out[KEPT_HEADER_BYTES], uint64_t gone);

/* A trace that is being read, apart or not. */
struct kept_trace {
	int fd;
	int head_fd; /* -1: the trace is not apart */
	uint64_t head_bytes; /* packets in the head */
	uint64_t gone; /* size of the hole */
	uint64_t bytes; /* size of the joined trace */
};

/* Opens the trace at @path. Returns 0, and the caller ends *@out with
 * kept_trace_close(); or -errno (see own_files_open()). Logs nothing. */
int kept_trace_open(const char *path, struct kept_trace *out);
void kept_trace_close(struct kept_trace *trace);
/* Like pread(2), but returns -errno. */
ssize_t kept_trace_read(const struct kept_trace *trace, void *to, size_t count,
			uint64_t offset);
/* Writes the first @bytes to @out, whose errors show in ferror(). Returns 0, or
 * -errno of reading; -EBADMSG: the trace is shorter. */
int kept_trace_copy(const struct kept_trace *trace, uint64_t bytes, FILE *out);

/* Returns true if the trace in the folder @dir_fd is apart. */
bool kept_trace_is_apart(int dir_fd);
/* Joins the trace in the folder @dir_fd if it is apart. Nobody may write the
 * trace meanwhile. After an error or a kill the caller can call it again.
 * Returns 0 or -errno. */
int kept_trace_join(int dir_fd);

#endif
