/* SPDX-License-Identifier: Apache-2.0
 *
 * collector - what all parts of perfrec-collect share. main() makes it before
 * other threads exist. They only read it, but for the fields that have a lock.
 */
#ifndef PERFREC_COLLECTOR_RECORD_COLLECTOR_H
#define PERFREC_COLLECTOR_RECORD_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/lock.h"
#include "shared/own_cost.h"
#include "shared/ring_shm.h"

struct arena;
struct clock_sync;
struct cpu_sampler;
struct collect_options;
struct ctl_top;
struct drain;
struct flight_share;
struct jobs;
struct jobs_group;
struct liveness;
struct open_recording;
struct process;
struct recording;
struct sampler;
struct session_limits;
struct states_thread;
struct symbol_cache;

struct collector {
	const struct collect_options *options;
	int loop;
	uint64_t start_ns; /* BOOTTIME */
	struct clock_sync *clock;
	bool ticks; /* programs may use the counter as their clock */
	double span_ns; /* cost of one span */
	struct own_cost_halves halves; /* of it */
	struct symbol_cache *symbols;
	struct flight_share *flight; /* NULL: recordings have no --flight */
	struct liveness *liveness;
	struct jobs *jobs; /* what is about no recording, and is quick */
	struct jobs_group *endings; /* the threads of recordings; NULL: none */
	/* The last job of each recording: recording_finish(). 0 or -errno, the
	 * log has why; NULL: nothing but the trace is written. */
	int (*finish_recording)(struct recording *recording);
	struct drain *drain;
	struct states_thread *states; /* NULL: states of functions stay */
	struct sampler *sampler; /* NULL: no stacks are unwound */
	struct cpu_sampler *cpu; /* NULL: the kernel samples nothing */
	int cpu_err; /* -errno: why it does not, though it should */
	/* For all recordings, if not empty: how CPU time is sampled otherwise
	 * than a person may think. */
	char cpu_note[192];
	double sample_ns; /* cost of a CPU sample; 0: unknown, or no budget */
	uint32_t counters; /* of --counters, those that this machine has */
	int counters_err; /* -errno: why it lacks others */
	struct recording *recording; /* of perfrec record; NULL: daemon */

	/* Main thread only. */
	struct arena *arenas;
	bool closing; /* no program is accepted any more */
	bool paused; /* new sessions are, too */
	uint32_t looked; /* process_look(): how many it has looked at closely */
	char categories[CATEGORIES_BYTES]; /* of new sessions; "": all */
	uint64_t last_session;
	struct ctl_top *top; /* has snapshots under way; NULL: none */
	struct session_limits *limits; /* on all sessions: session.c */

	struct lock lock; /* of everything below */
	struct process *processes; /* all that are not done */
	uint32_t process_count;
	uint32_t unwatched_count; /* of them: process_look() has to do */
	struct {
		uint32_t most; /* processes that can be watched */
		uint32_t taken;
	} watches; /* watches.h */
	struct process *done; /* for the main thread to free */
	struct open_recording *recordings; /* of one session each, not finished:
					    * serve/session.c */
	uint32_t recording_count;
	int done_fd; /* eventfd: there are some */
};

#endif
