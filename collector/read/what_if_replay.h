/* SPDX-License-Identifier: Apache-2.0
 *
 * what_if_replay - runs the threads of a program again, on paper: each thread is a
 * list of steps, which run on the CPUs or wait. Pure. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_WHAT_IF_REPLAY_H
#define PERFREC_COLLECTOR_READ_WHAT_IF_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_NO_STEP UINT32_MAX

/* Times that have two values are those of the recorded and of the changed run. */
enum replay_run { REPLAY_RECORDED, REPLAY_CHANGED };

struct replay_step {
	bool waits; /* otherwise it runs */
	/* A wait for an event that no record explains. */
	bool unknown;
	bool ends_run; /* the run ends when all such steps have ended */
	/* The wait ends when this step of another thread ends. REPLAY_NO_STEP:
	 * after fixed_ns. */
	uint32_t waker;
	uint64_t from_ns, to_ns; /* in the recording */
	double cpu_ns[2];
	double stolen_ns[2]; /* could run, and another program had the CPU */
	/* Without a CPU, in both runs: the length of a wait, or its time after the
	 * end of the waker's step. */
	double fixed_ns;
	/* An unknown wait of the changed run may end at this time at the
	 * earliest. */
	double earliest_ns;
};

struct replay_thread {
	uint32_t first, end; /* steps */
};

struct replay_graph {
	const struct replay_step *steps; /* each thread's in order of time */
	uint32_t step_count;
	const struct replay_thread *threads;
	uint32_t thread_count;
	uint32_t cpus; /* at least 1 */
	uint32_t last; /* the step that ended the recorded run */
};

struct replay_mode {
	enum replay_run run;
	bool keep_stolen; /* stolen_ns of the recorded run */
	bool end_early; /* unknown waits end as early as they may */
	bool ends_with_last; /* the run ends with that step alone */
};

/* Sets *@ns to the length of the run from time 0, when all threads start. Returns
 * 0, -ENOMEM, or -EDEADLK if threads wait for each other for ever. */
int what_if_replay(const struct replay_graph *graph, struct replay_mode mode,
		   double *ns);

#endif
