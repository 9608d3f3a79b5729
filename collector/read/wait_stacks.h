/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_stacks - the calls around each wait of a trace, and around each release of
 * a lock. The calls of a context (a coroutine) are not among them. One thread at a
 * time.
 */
#ifndef PERFREC_COLLECTOR_READ_WAIT_STACKS_H
#define PERFREC_COLLECTOR_READ_WAIT_STACKS_H

#include <stdint.h>

#include "collector/base/pool.h"
#include "collector/read/trace_packets.h"
#include "collector/read/trace_waits.h"

/* Stack N is frame N - 1 and those around it; 0: no call. */
struct wait_frame {
	uint32_t caller; /* a stack */
	uint32_t function; /* text of the waits; 0: unknown */
};

struct wait_stacks {
	struct pool frames; /* struct wait_frame */
};

/* Reads the calls of the trace at @path, and sets the stacks of @waits and of their
 * holds. @waits were read from the same trace. @progress may be NULL. Returns 0, and the caller ends @out with
 * wait_stacks_release() before @waits. Returns -errno if the file cannot be opened or
 * memory is short. A damaged trace is read up to the damage. Logs nothing. */
int wait_stacks_read(const char *path, struct trace_waits *waits,
		     const struct read_progress *progress,
		     struct wait_stacks *out);
/* @stacks may be all zero. */
void wait_stacks_release(struct wait_stacks *stacks);

/* Returns the innermost frame of @stack, or NULL at the end of a stack. */
static inline const struct wait_frame *wait_stacks_frame(
	const struct wait_stacks *stacks, uint32_t stack)
{
	return stack ? &((const struct wait_frame *)
				 stacks->frames.items)[stack - 1]
		     : NULL;
}

#endif
