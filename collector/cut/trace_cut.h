/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_cut - writes a cut of a trace: ranges of it, as a trace of its own.
 * With an index beside the trace, it reads only what the ranges need
 * (read/trace_parts.h). Without one it reads the trace once, front to back. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_TRACE_CUT_H
#define PERFREC_COLLECTOR_CUT_TRACE_CUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/cut/cut_ranges.h"
#include "collector/cut/packet_window.h"
#include "collector/read/trace_packets.h"

struct trace_cut_wish {
	const char *path;
	const char *of; /* the trace's name for people, written to the cut */
	const struct cut_ranges *ranges; /* ordered, at least one */
	uint64_t origin_ns; /* zero of the times that people see */
	const struct cut_threads *threads;
	const char *thread; /* people's choice of threads; NULL: none */
	bool compress;
	const struct read_progress *progress;
};

void trace_cut_put_about(const struct trace_cut_wish *wish,
			 struct cut_file *file);

struct trace_cut_result {
	struct packet_window_totals totals;
	uint64_t size, at, left; /* bytes of the trace, as trace_packets.h */
	uint64_t told; /* bytes that the index describes */
	uint64_t bad_bundles;
	uint64_t bytes;
	int read_err; /* of reading; 0: read to the end */
};

/* Writes the cut to @out, which stays the caller's. Returns 0, and *@result
 * reports missing parts. Returns -errno of writing, or of opening the trace.
 * Logs nothing. */
int trace_cut_write(const struct trace_cut_wish *wish, FILE *out,
		    struct trace_cut_result *result);

#endif
