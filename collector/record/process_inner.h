/* SPDX-License-Identifier: Apache-2.0
 *
 * process_inner - the body of a process, for process.c and for tests that make
 * a process by hand.
 */
#ifndef PERFREC_COLLECTOR_RECORD_PROCESS_INNER_H
#define PERFREC_COLLECTOR_RECORD_PROCESS_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/jobs.h"
#include "collector/base/loop.h"
#include "collector/names/outer_ids.h"
#include "collector/record/process.h"

struct process {
	struct watch watch; /* of its pidfd; fd -1: none */
	const struct process_calls *calls;
	struct process_setup setup;
	struct process_parts parts;
	/* Track of its resident size; 0: none; under the collector's lock. */
	uint64_t rss_uuid;
	uint64_t start_flow; /* see process_take_start_flow() */
	bool entry_listed; /* setup.entry belongs to the recording */
	uint32_t has_forked; /* set by any worker */
	struct outer_threads threads; /* thread ids, if it is foreign */

	uint32_t ending; /* set once, by process_end() */
	struct process_ending end; /* valid after ending is set */
	uint64_t drained; /* one bit per drain worker: process_drained() */
	struct job drained_job;
	struct process *next; /* of its arena */
	struct process *next_all; /* of the collector */
	struct process *done_next;
};

#endif
