/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_rig - a trace of one thread in memory, for tests of trace readers. It
 * uses the writers of collector/trace. A test writes the head of the trace, by
 * write_trace_head() or by itself, and then calls.
 */
#ifndef PERFREC_TESTS_UNIT_TRACE_RIG_H
#define PERFREC_TESTS_UNIT_TRACE_RIG_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/cut/trace_reindex.h"
#include "collector/output/own_files.h"
#include "collector/read/trace_index.h"
#include "collector/trace/encode.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_index.h"
#include "tests/suite.h"

#define START_NS 1000000000ULL
#define PROCESS 11 /* uuids of the tracks */
#define THREAD 22

static uint8_t g_trace[1 << 18];
static size_t g_bytes;
static struct encoder g_encoder;

/* Arguments of a writer: its buffer and size. */
#define ROOM g_trace + g_bytes, sizeof(g_trace) - g_bytes

/* A writer has written @bytes into ROOM; 0 is a failure. */
static inline void wrote(size_t bytes)
{
	ck_assert_uint_gt(bytes, 0);
	g_bytes += bytes;
}

/* The callback of out_sched_new(): adds @packets to the trace. */
static inline void wrote_switches(void *context, const void *packets,
				  size_t bytes)
{
	(void)context;
	ck_assert_uint_le(bytes, sizeof(g_trace) - g_bytes);
	memcpy(g_trace + g_bytes, packets, bytes);
	g_bytes += bytes;
}

/* Starts a trace: process 7 and its thread @tid, whose functions have @names. */
static inline void write_trace_head(uint32_t sequence, int tid,
				    const struct out_name *names, size_t count)
{
	const struct out_clocks clocks = { .boottime = START_NS };
	const uint8_t uuid[16] = { 1 };
	char *command[] = { "./app", NULL };
	const struct out_process process = {
		.uuid = PROCESS, .pid = 7, .name = "app", .cmdline = command
	};
	const struct out_thread thread = { .uuid = THREAD,
					   .sequence = sequence,
					   .pid = 7,
					   .tid = tid,
					   .name = "worker",
					   .start_ns = START_NS };

	g_bytes = 0;
	wrote(out_perfetto_preamble(ROOM, &clocks, uuid, NULL, 0));
	wrote(out_perfetto_process(ROOM, &process));
	wrote(out_perfetto_thread(ROOM, &thread));
	wrote(out_perfetto_names(ROOM, sequence, names, count));
	encoder_init(&g_encoder, sequence, START_NS);
}

/* Writes the first @bytes of the trace to a file of memory. Returns its descriptor,
 * which the caller closes, and its @path. */
static inline int keep_trace(size_t bytes, char path[32])
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, g_trace, bytes), (ssize_t)bytes);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static inline void write_begin(uint32_t iid, uint64_t ns)
{
	struct encode_template begin = encode_template(&g_encoder, iid);

	g_encoder.out = g_trace + g_bytes;
	encode_begin(&g_encoder, START_NS + ns, &begin);
	g_bytes = (size_t)(g_encoder.out - g_trace);
}

static inline void write_end(uint64_t ns)
{
	g_encoder.out = g_trace + g_bytes;
	encode_end(&g_encoder, START_NS + ns);
	g_bytes = (size_t)(g_encoder.out - g_trace);
}

/* Makes INDEX_NAME for the file TRACE_NAME, both in the working directory. The caller
 * frees the result. */
static inline struct trace_index *make_index(void)
{
	int dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct trace_reindex_result result;
	struct trace_index *index = NULL;
	struct trace_index_to to;

	ck_assert_int_eq(trace_index_open(dir_fd, INDEX_NAME, &to), 0);
	ck_assert_int_eq(trace_reindex(TRACE_NAME, &to, NULL, &result), 0);
	ck_assert_int_eq(trace_index_close(&to, true), 0);
	ck_assert_int_eq(trace_index_read(INDEX_NAME, TRACE_NAME, &index), 0);
	close(dir_fd);
	return index;
}

#endif
