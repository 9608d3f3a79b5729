/* SPDX-License-Identifier: Apache-2.0
 *
 * what_if - the length that a recorded run would have if calls of some functions
 * needed more or less CPU time. All threads run again (what_if_replay.h): CPU time
 * changes as wished, waits that another thread ended end when that thread
 * gets there, and all other waits keep their length.
 *
 * The range says how far the answer depends on times that no record explains. Its
 * upper end keeps the time that other programs had the CPU. At its lower end
 * waits with an unknown waker end earlier by the CPU time saved before, and the run
 * ends without threads that nobody waited for.
 */
#ifndef PERFREC_COLLECTOR_READ_WHAT_IF_H
#define PERFREC_COLLECTOR_READ_WHAT_IF_H

#include <stdint.h>

#include "collector/read/trace_read.h"

#define WHAT_IF_CHANGES_MAX 8
#define WHAT_IF_POINTS_MAX 10 /* of a range, in percent of the run */
#define WHAT_IF_ERROR_MAX 5 /* of the unchanged run, in percent */

/* Calls of matching functions, with their callees. In a call inside calls of several
 * changes all factors apply. */
struct what_if_change {
	const char *pattern; /* name_pattern.h */
	double factor; /* of the CPU time */
	uint64_t calls; /* out: that match */
	uint64_t on_cpu_ns; /* out: of the run, before the change */
};

enum what_if_result {
	WHAT_IF_ESTIMATE,
	WHAT_IF_NO_CALLS, /* the trace has none */
	WHAT_IF_NO_SWITCHES, /* or too many were lost */
	/* Replayed without a change, the run has another length: */
	WHAT_IF_CPU_BOUND, /* its threads had all CPUs most of the time */
	WHAT_IF_NOT_REPRODUCED,
	WHAT_IF_CIRCLE, /* or none: its threads wait for each other */
	/* The range is too wide: */
	WHAT_IF_OTHER_PROGRAMS, /* they had the CPUs */
	WHAT_IF_UNKNOWN_WAITS,
	WHAT_IF_OTHER_THREADS, /* the run may wait for their ends */
};

struct what_if {
	enum what_if_result result;
	uint64_t
		length_ns; /* from the first call to the end of the first thread */
	/* Its length, replayed without a change; 0: not known. */
	uint64_t replayed_ns;
	/* All of these in proportion to length_ns; 0: not known. */
	uint64_t estimate_ns, low_ns, high_ns;
	uint32_t cpus; /* that threads of the recording used */
	/* Sums over threads. */
	uint64_t on_cpu_ns;
	uint64_t shared_ns; /* could run; other threads of the recording ran */
	uint64_t stolen_ns; /* could run; other programs ran */
	uint64_t unknown_ns; /* of waits without a known end */
	struct trace_read_totals totals;
	int err; /* of reading; 0: reached the end of the file */
};

/* Reads the trace at @path, twice (without an index, three times), and its
 * switches. @count is at most WHAT_IF_CHANGES_MAX. @progress may be NULL. Returns 0.
 * A truncated or damaged trace is read up to the damage. Returns -errno if the file
 * cannot be opened or memory is short. Logs nothing. */
int what_if_read(const char *path, struct what_if_change *changes,
		 uint32_t count, const struct read_progress *progress,
		 struct what_if *out);

#endif
