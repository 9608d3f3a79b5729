/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_keep - a trace of which the newest part is kept (--keep last): when it
 * has its size, its oldest part is given up. docs/KEEP.md says how.
 */
#ifndef PERFREC_COLLECTOR_TRACE_TRACE_KEEP_H
#define PERFREC_COLLECTOR_TRACE_TRACE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

/* What follows in a trace whose begin is given up. */
struct trace_rest {
	int dir_fd; /* of the folder */
	bool compress; /* the head is to be compressed */
	uint64_t gone; /* so many bytes of the file will be given up */
	/* Whether anything may follow on @sequence. */
	bool (*lives)(void *context, uint32_t sequence);
	/* As in struct packet_window_rest (cut/packet_window.h). */
	bool all_known;
	uint64_t from_ns, first_ns;
	uint64_t (*next_step)(void *context, uint32_t sequence);
	void *context;
};

struct trace_head {
	uint64_t bytes;
	uint64_t from_ns; /* of the last event before the rest, or now, if that
			   * is earlier; 0: there is none */
};

/* Makes HEAD_NAME anew (output/kept_trace.h): what a reader of @rest needs to
 * know of what was before it. On a thread of its own. 0 or -errno. */
typedef int trace_head_make(const struct trace_rest *rest,
			    struct trace_head *out);

/* How much of a trace was given up. */
struct trace_kept {
	uint64_t from_ns; /* from then on the trace has all; 0: it has all */
	uint64_t given_up; /* bytes of packets, unpacked */
};

#endif
