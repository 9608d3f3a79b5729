/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_cut - writes a cut of a trace: ranges of it, as a trace of its own. By
 * the index that lies beside the trace only what the ranges need is read
 * (read/trace_parts.h); without one the trace is read once, front to back. One
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
	const char *path; /* of the trace */
	const char *of; /* what it is of, for people: the cut says it */
	const struct cut_ranges *ranges; /* ordered, one at least */
	uint64_t origin_ns; /* from which people count times */
	const struct cut_threads *threads; /* as packet_window_new() has it */
	const char *thread; /* how people chose them; NULL: they did not */
	bool compress;
	const struct read_progress *progress; /* NULL: nobody is told */
};

/* Appends what a cut says of itself: of, ranges, origin_ns and thread. */
void trace_cut_put_about(const struct trace_cut_wish *wish,
			 struct cut_file *file);

struct trace_cut_result {
	struct packet_window_totals totals;
	uint64_t size, at, left; /* bytes of the trace, as trace_packets.h */
	uint64_t told; /* so many of them its index tells of */
	uint64_t bad_bundles;
	uint64_t bytes; /* of the cut */
	int read_err; /* how reading ended; 0: at the end of the trace */
};

/* Writes the cut to @out, which stays the caller's. Returns 0, *@result says
 * what is missing; or -errno: -EIO and so on of writing, or of opening the
 * trace. Logs nothing. */
int trace_cut_write(const struct trace_cut_wish *wish, FILE *out,
		    struct trace_cut_result *result);

#endif
