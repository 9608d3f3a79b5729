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
#include "collector/profile/function_table.h"
#include "collector/record/recording.h"

struct recording {
	struct job end_job; /* the first */
	struct jobs *endings; /* where it goes; NULL: run at once */
	int (*finish)(struct recording *recording); /* its last job, see
						     * struct collector */
	uint32_t refs;
	struct recording_setup setup;
	int room_fd; /* set aside for what is written last; -1: none */
	char *path; /* setup.path */
	struct budget budget; /* setup.budget */
	struct snapshots *snapshots; /* files/snapshot.c; NULL: none yet */
	/* The jobs thread's: */
	uint32_t value_sequence; /* 0: none yet */
	int said_err; /* see unwritten_say() */
	uint32_t last_sequence;

	/* For progress; any thread. */
	struct recording_live live;

	/* See recording_on_end(); NULL: nobody asks. */
	void (*ended)(struct recording *recording, void *context);
	void *ended_context;

	struct lock lock; /* of everything below */
	struct process_heap *heaps; /* list: of processes that go on */
	struct recording_sums sums; /* command_end: the main thread's */
	struct function_table functions;
	struct process_entry **last_process;
	uint32_t listed; /* entries of processes and threads */
	uint32_t lossy_room;
};

#endif
