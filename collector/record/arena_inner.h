/* SPDX-License-Identifier: Apache-2.0
 *
 * arena_inner - the body of an arena. For arena.c, and for tests that make an
 * arena by hand.
 */
#ifndef PERFREC_COLLECTOR_RECORD_ARENA_INNER_H
#define PERFREC_COLLECTOR_RECORD_ARENA_INNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/record/arena.h"
#include "collector/record/family.h"
#include "collector/replay/order.h"
#include "collector/replay/pause.h"

struct arena {
	uint32_t refs;
	struct arena *next; /* the main thread's list */
	struct arena_setup setup;
	struct job free_job; /* arena_put()'s */

	/* Set before another thread knows the arena; only read after that. */
	dev_t device; /* of the memfd, as /proc/PID/maps has it */
	ino_t inode;
	int held_fd; /* tells whether anybody has it mapped; -1: unknown */

	/* Words that any thread changes. */
	uint32_t broken; /* it is read no more */
	uint32_t off; /* control is CONTROL_OFF, for good */
	uint32_t forked; /* its program has called fork() */
	uint32_t late_slots; /* see arena_add_late_slots() */
	struct arena_live live;

	struct pause_list pauses; /* setup.pauses */
	struct orders orders; /* setup.orders */
	struct arena_session session;
	struct arena_drain drain;
	uint64_t idle_since_ns; /* the main thread's: arena_note_idle() */

	struct lock lock; /* of these: */
	struct process *processes;
	uint32_t watched; /* of these */
	struct family family; /* processes that have ended */
	bool cut; /* a process went on when the recording ended */
};

#endif
