/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_reindex - reads a trace once and writes an index with the content that
 * the writer of the trace would have written. Memory is bounded. One thread at
 * a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_TRACE_REINDEX_H
#define PERFREC_COLLECTOR_CUT_TRACE_REINDEX_H

#include <stdint.h>

struct read_progress;
struct trace_index_to;

struct trace_reindex_result {
	uint64_t size;
	uint64_t at; /* bytes at its start that the index describes */
	uint64_t packets, slices;
	uint32_t sequences;
	uint32_t given_up; /* sequences that the index describes only partly */
	uint32_t unfinished; /* sequences with open slices at the end */
	int read_err; /* 0, or -EBADMSG: the file is not a trace from "at" on */
};

/*
 * Writes the index of the trace at @path to @index and sets *@result. @progress
 * may be NULL. Logs nothing.
 *
 * Returns 0, -ENOMEM, or -errno of opening or reading the trace. Returns
 * -EPROTO if a sequence clears its state a second time, which perfrec never
 * does.
 */
int trace_reindex(const char *path, const struct trace_index_to *index,
		  const struct read_progress *progress,
		  struct trace_reindex_result *result);

#endif
