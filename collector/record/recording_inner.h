/* SPDX-License-Identifier: Apache-2.0
 *
 * recording_inner - the body of a recording. For recording.c, and for tests
 * that make a recording by hand.
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
	struct job end_job; /* the first */
	int (*finish)(struct recording *recording); /* its last job, see
						     * struct collector */
	uint32_t refs;
	struct recording_setup setup;
	int room_fd; /* set aside for what is written last; -1: none */
	char *path; /* setup.path */
	struct budget budget; /* setup.budget */
	struct budget histogram_budget; /* setup.histogram_budget */
	struct snapshots *snapshots; /* files/snapshot.c; NULL: none yet */
	struct flight_recorder *flight; /* recording_flight() */
	uint32_t value_sequence; /* the thread of collector->jobs's; 0: none */
	int said_err; /* its jobs thread's; see unwritten_say() */
	bool is_discarded; /* see recording_discard() */
	uint32_t heap_busy; /* see recording_heap_busy() */
	uint32_t last_sequence; /* that has been given; any thread */
	struct recording_live live; /* any thread */

	/* See recording_on_end(); NULL: nobody asks. */
	void (*ended)(struct recording *recording, void *context);
	void *ended_context;

	struct lock lock; /* of everything below */
	struct process_heap *heaps; /* see recording_heaps() */
	struct recording_sums sums; /* but for command_end, which the main
				     * thread sets without the lock */
	struct function_table functions;
	struct async_table async;
	struct process_entry **last_process; /* end of sums.processes */
	uint32_t listed; /* entries of processes and threads */
	uint32_t lossy_room; /* of sums.lossy */
};

#endif
