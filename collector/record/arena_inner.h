/* SPDX-License-Identifier: Apache-2.0
 *
 * arena_inner - the body of an arena, for arena.c and for tests that make an
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
	struct job free_job; /* for arena_put() */

	/* Set before another thread has the arena; then only read. */
	dev_t device; /* of the memfd, as in /proc/PID/maps */
	ino_t inode;
	int held_fd; /* see arena_is_held(); -1: unknown */

	/* Changed by any thread. */
	uint32_t broken; /* its rings are read no more */
	uint32_t off; /* control is CONTROL_OFF, which is final */
	uint32_t forked; /* its program has called fork() */
	uint32_t late_slots; /* see arena_add_late_slots() */
	struct arena_live live;

	struct pause_list pauses; /* setup.pauses */
	struct orders orders; /* setup.orders */
	struct arena_session session;
	struct arena_drain drain;
	uint64_t idle_since_ns; /* main thread; see arena_note_idle() */

	struct lock lock; /* guards all below */
	struct process *processes;
	uint32_t watched; /* of these */
	struct family family; /* ended processes */
	bool cut; /* a process ran on when the recording ended */
};

#endif
