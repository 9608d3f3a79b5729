/* SPDX-License-Identifier: Apache-2.0
 *
 * sched - the switches of a trace: where each thread ran, and its states in
 * between. Memory grows with the number of switches.
 */
#ifndef PERFREC_TESTS_SCHED_H
#define PERFREC_TESTS_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/tools/checker/pbread.h"

#define SCHED_CPUS 1024

struct verdict;

/* A thread was on a CPU from @from to @to, and then went into a state. */
struct stretch {
	uint64_t from, to; /* to: UINT64_MAX while it is not known */
	uint64_t unknown_ns; /* from when on nothing is known of it, after @to;
			      * UINT64_MAX: it is known */
	int32_t tid;
	uint32_t cpu;
	int64_t state;
};

struct sched {
	struct sched_cpu {
		uint64_t switches, last_ns;
		int32_t tid; /* that runs */
		size_t open; /* its stretch + 1; 0: none */
		size_t loss; /* 1 + the loss without a known end; or 0 */
		bool first_alone; /* it has had one switch */
		bool lost; /* switches of it are missing somewhere */
	} cpus[SCHED_CPUS];
	struct stretch *stretches;
	size_t count, room;
	struct sched_loss {
		uint64_t from, to;
	} * losses;
	size_t loss_count, loss_room;
	uint64_t switches;
};

/* Time of a thread, ns. */
struct sched_sums {
	uint64_t on_cpu, preempted, blocked, unknown;
};

/* Takes an FtraceEventBundle in. Returns when its last switch was. */
uint64_t sched_bundle(struct verdict *verdict, struct sched *sched,
		      struct pb bundle);
/* After the last switch: checks the remaining rules, and sorts the stretches by
 * thread and time. The state of a thread that is on a CPU at the end is unknown
 * since its last switch, because the file may be cut. */
void sched_end(struct verdict *verdict, struct sched *sched);
/* After sched_end(): adds what thread @tid did between @from and @to. */
void sched_between(const struct sched *sched, int32_t tid, uint64_t from,
		   uint64_t to, struct sched_sums *sums);
/* After sched_end(): returns true if thread @tid may have slept from @from to
 * @to: it was on no CPU. @exact: and these are the times of two switches, one
 * after the other. Also true where the trace says that switches are missing. */
bool sched_slept(const struct sched *sched, int32_t tid, uint64_t from,
		 uint64_t to, bool exact);
/* Whether the switches up to @ns are all there: the last one of each CPU is at
 * one time, the end of the recording. A file that stopped or was cut may lack
 * some, of some CPUs. */
bool sched_whole(const struct sched *sched, uint64_t ns);
/* After sched_end(): a line for each thread. */
void sched_print(const struct sched *sched);
/* After sched_end(): a line for each state of each thread, as importers have
 * them. */
void sched_print_states(const struct sched *sched);
void sched_release(struct sched *sched);

#endif
