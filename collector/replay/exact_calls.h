/* SPDX-License-Identifier: Apache-2.0
 *
 * exact_calls - puts the exact number of calls of each function into the trees
 * of a thread, where only some of the calls were recorded (scale_calls.h). The
 * other calls become cct_node.unrecorded.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_EXACT_CALLS_H
#define PERFREC_COLLECTOR_REPLAY_EXACT_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fibers;

struct exact_calls {
	uint64_t address;
	uint32_t generation; /* of the load map when its module was loaded */
	uint64_t calls; /* of one thread, begun so far through thunks */
	bool apart; /* the gate counted, so recorded calls are not included */
};

/*
 * Sets the unrecorded calls of all nodes in @fibers. For each function they are
 * the calls of @exact (@count functions; sorted in place), plus calls that
 * neither thunk nor gate counted (their hook was under way at a change, or
 * before the function was connected), less the recorded calls. An open call
 * counts as recorded. If no call was recorded, the calls go to a node below the
 * function CCT_UNKNOWN_CALLERS, below the root of the thread's own stack. Skips
 * functions that a filter excludes. Call it as often as you like, with current
 * numbers, on the thread that runs @fibers. Returns 0, or -ENOMEM if some
 * functions were not set.
 */
int exact_calls_set(struct fibers *fibers, struct exact_calls *exact,
		    size_t count);

#endif
