/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_sums_inner - shared by the parts of trace_sums.h: trace_sums.c sums up
 * events, trace_chunks.c the chunks of the index.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_SUMS_INNER_H
#define PERFREC_COLLECTOR_READ_TRACE_SUMS_INNER_H

#include "collector/read/trace_sums.h"

static inline struct sums_node *trace_sums_at(struct trace_sums *sums,
					      uint32_t number)
{
	return &((struct sums_node *)sums->nodes.items)[number];
}

/* Returns the number of the thread of @track; 0: no room. */
uint32_t trace_sums_thread(struct trace_sums *sums,
			   const struct trace_track *track);
/* Returns the root of @thread; 0: no room. */
uint32_t trace_sums_root(struct trace_sums *sums, uint32_t thread);
/* Returns the node of @name called by @parent, and adds it if necessary.
 * Returns 0 without room. */
uint32_t trace_sums_child(struct trace_sums *sums, uint32_t parent,
			  uint32_t name);

/* --- trace_chunks.c --- */

/* Adds the chunks that the window skips. Returns 0; -EIO: their sums in the
 * index are unreadable; or -ENOMEM. */
int trace_chunks_add(struct trace_sums *sums);

#endif
