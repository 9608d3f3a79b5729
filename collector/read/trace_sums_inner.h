/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_sums_inner - what the parts of trace_sums.h share: trace_sums.c sums up
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

/* The number of the thread that @track is of; 0: no room. */
uint32_t trace_sums_thread(struct trace_sums *sums,
			   const struct trace_track *track);
/* The root of @thread. 0: there is no room. */
uint32_t trace_sums_root(struct trace_sums *sums, uint32_t thread);
/* The node of @name called by @parent, which is made if there is none. 0: there
 * is no room. */
uint32_t trace_sums_child(struct trace_sums *sums, uint32_t parent,
			  uint32_t name);

/* --- trace_chunks.c --- */

/* Adds the chunks that the window leaves out. 0; -EIO: the index has
 * their sums, but they cannot be read any more; or -ENOMEM. */
int trace_chunks_add(struct trace_sums *sums);

#endif
