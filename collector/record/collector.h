/* SPDX-License-Identifier: Apache-2.0
 *
 * collector - the state that all parts of perfrec-collect share. main() makes
 * it before other threads exist. Other threads only read it, except the fields
 * under the lock.
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
struct on_finish;
struct open_recording;
struct process;
struct push_spool;
struct recording;
struct retention;
struct sampler;
struct session_limits;
struct states_thread;
struct symbol_cache;

struct collector {
	const struct collect_options *options;
	int loop;
	uint64_t start_ns; /* BOOTTIME */
	struct clock_sync *clock;
	bool ticks; /* programs may use the TSC as their clock */
	double span_ns; /* cost of one span */
	struct own_cost_halves halves; /* of span_ns */
	struct symbol_cache *symbols;
	struct flight_share *flight; /* NULL: no --flight */
	struct push_spool *push; /* NULL: no --push */
	struct liveness *liveness;
	struct jobs *jobs; /* quick work that belongs to no recording */
	struct jobs_group *endings; /* the threads of recordings; NULL: none */
	/* The last job of each recording: recording_finish(). Returns 0 or
	 * -errno, which it has logged. NULL: only the trace is written. */
	int (*finish_recording)(struct recording *recording);
	struct retention *retention; /* NULL: no --keep-recordings */
	struct on_finish *on_finish; /* NULL: no --on-finish */
	struct drain *drain;
	/* NULL: states of functions never change */
	struct states_thread *states;
	struct sampler *sampler; /* NULL: no unwinding */
	struct cpu_sampler *cpu; /* NULL: no kernel samples */
	int cpu_err; /* -errno: why there are none, though requested */
	/* Note for all recordings on unexpected sampling of CPU time; "": none.
	 */
	char cpu_note[192];
	double sample_ns; /* cost of a CPU sample; 0: unknown, or no budget */
	uint32_t counters; /* of --counters that this machine has */
	int counters_err; /* -errno: why others are missing */
	struct recording *recording; /* of perfrec record; NULL: daemon */

	/* Main thread only. */
	struct arena *arenas;
	bool closing; /* accepts no program any more */
	bool paused; /* new sessions begin paused */
	uint32_t looked; /* process_look(): its next position */
	char categories[CATEGORIES_BYTES]; /* of new sessions; "": all */
	uint64_t last_session;
	struct ctl_top *top; /* snapshots under way; NULL: none */
	struct session_limits *limits; /* on all sessions: session.c */

	struct lock lock; /* guards all below */
	struct process *processes; /* excludes done */
	uint32_t process_count;
	uint32_t unwatched_count; /* processes that process_look() checks */
	struct {
		uint32_t most; /* processes that can be watched */
		uint32_t taken;
	} watches; /* watches.h */
	struct process *done; /* for the main thread to free */
	/* Unfinished, one session each: serve/session.c. */
	struct open_recording *recordings;
	uint32_t recording_count;
	int done_fd; /* eventfd: wakes the main thread */
};

#endif
