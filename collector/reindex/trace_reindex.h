/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_reindex - reads a trace once, and tells an index file what the writer
 * of the trace would have told it. Memory is bounded. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_REINDEX_TRACE_REINDEX_H
#define PERFREC_COLLECTOR_REINDEX_TRACE_REINDEX_H

#include <stdint.h>

struct read_progress;
struct trace_index_to;

struct trace_reindex_result {
	uint64_t size; /* bytes of the trace */
	uint64_t at; /* so many of them are told of */
	uint64_t packets, slices;
	uint32_t sequences; /* with calls */
	uint32_t given_up; /* of these, those that are told of in part only */
	uint32_t unfinished; /* of these, those with open slices at the end */
	int read_err; /* how reading ended: 0; or -EBADMSG: from "at" on the
		       * file is no trace */
};

/*
 * Tells @index of the trace at @path. @progress may be NULL. Returns 0, and
 * *@result is set; or -errno of opening or reading the trace, or for want of
 * memory; -EPROTO: the trace clears what it has said on a sequence, which
 * perfrec never does. Logs nothing.
 */
int trace_reindex(const char *path, const struct trace_index_to *index,
		  const struct read_progress *progress,
		  struct trace_reindex_result *result);

#endif
