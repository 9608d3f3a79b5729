/* SPDX-License-Identifier: Apache-2.0
 *
 * exact_calls - the trees of a thread learn how often each function was really
 * called, where only some of the calls were recorded (scale_calls.h). What was
 * not recorded becomes cct_node.unrecorded of its nodes.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_EXACT_CALLS_H
#define PERFREC_COLLECTOR_REPLAY_EXACT_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fibers;

/* A function that has thunks. */
struct exact_calls {
	uint64_t address;
	uint32_t generation; /* of the load map when its module came */
	uint64_t calls; /* of one thread, through thunks: begun until now */
	bool apart; /* recorded ones are not among them: the gate counted */
};

/*
 * Sets the unrecorded calls of all nodes in @fibers: for each function those of
 * @exact (@count of them; sorted in place), and those that neither thunk nor
 * gate counted as their hook was under way at a change, or before it was
 * connected, less the recorded ones. A call that is open is a recorded one. If
 * none was recorded, they are of a node below the function CCT_UNKNOWN_CALLERS,
 * which is below the root of the thread's own stack. Functions that a filter
 * excludes are passed over. Call it as often as you like, with the numbers of
 * that moment, on the thread that runs @fibers. 0, or -ENOMEM: of some
 * functions nothing was set.
 */
int exact_calls_set(struct fibers *fibers, struct exact_calls *exact,
		    size_t count);

#endif
