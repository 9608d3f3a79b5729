/* SPDX-License-Identifier: Apache-2.0
 *
 * recording_inner - the body of a recording, for recording.c and for tests that
 * make a recording by hand.
 */
#ifndef PERFREC_COLLECTOR_RECORD_RECORDING_INNER_H
#define PERFREC_COLLECTOR_RECORD_RECORDING_INNER_H

#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/profile/async_table.h"
#include "collector/profile/function_table.h"
#include "collector/record/recording.h"

struct recording {
	struct job end_job; /* must be first */
	/* The last job of the recording; see struct collector. */
	int (*finish)(struct recording *recording);
	uint32_t refs;
	struct recording_setup setup;
	int room_fd; /* reserved for the last files; -1: none */
	char *path; /* setup.path */
	struct budget budget; /* setup.budget */
	struct budget histogram_budget; /* setup.histogram_budget */
	struct snapshots *snapshots; /* files/snapshot.c; NULL: none yet */
	struct flight_recorder *flight; /* recording_flight() */
	struct windows *windows; /* recording_windows() */
	/* for the thread of collector->jobs; 0: none */
	uint32_t value_sequence;
	int said_err; /* for its jobs thread; see unwritten_say() */
	bool is_discarded; /* see recording_discard() */
	uint32_t heap_busy; /* see recording_heap_busy() */
	uint32_t windows_busy; /* see recording_windows_busy() */
	uint32_t last_sequence; /* the last one used; any thread */
	struct recording_live live; /* any thread */

	/* See recording_on_end(); NULL: not set. */
	void (*ended)(struct recording *recording, int err, void *context);
	void *ended_context;

	struct lock lock; /* guards all below */
	struct who *who; /* recording_who() */
	struct process_heap *heaps; /* see recording_heaps() */
	/* Except command_end, which the main thread sets without the lock. */
	struct recording_sums sums;
	struct function_table functions;
	struct async_table async;
	struct process_entry **last_process; /* end of sums.processes */
	uint32_t listed; /* entries of processes and threads */
	uint32_t lossy_room; /* of sums.lossy */
};

#endif
