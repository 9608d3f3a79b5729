/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_keep - a trace that keeps its newest part (--keep last): at its size
 * limit it gives up the oldest part. docs/FLIGHT.md describes how.
 */
#ifndef PERFREC_COLLECTOR_TRACE_TRACE_KEEP_H
#define PERFREC_COLLECTOR_TRACE_TRACE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

/* The rest of a trace behind its lost beginning. */
struct trace_rest {
	int dir_fd;
	bool compress;
	uint64_t gone; /* bytes of the file that will be given up */
	/* Returns true if packets of @sequence may follow. */
	bool (*lives)(void *context, uint32_t sequence);
	/* As in struct packet_window_rest (cut/packet_window.h). */
	bool all_known;
	uint64_t from_ns, first_ns;
	uint64_t (*next_step)(void *context, uint32_t sequence);
	void *context;
};

struct trace_head {
	uint64_t bytes;
	uint64_t from_ns; /* time of the last event before the rest, or now if
			   * that is earlier; 0: none */
};

/* Remakes HEAD_NAME (output/kept_trace.h): the earlier state that a reader of
 * @rest needs. On a thread of its own. Returns 0 or -errno. */
typedef int trace_head_make(const struct trace_rest *rest,
			    struct trace_head *out);

struct trace_kept {
	uint64_t from_ns; /* the trace is complete from then on; 0:
			   * completely */
	uint64_t given_up; /* bytes of packets, unpacked */
};

#endif
