/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_times - checks that the times of a summary do not contradict each
 * other (output/time_sums.h).
 */
#ifndef PERFREC_COLLECTOR_READ_SUMMARY_TIMES_H
#define PERFREC_COLLECTOR_READ_SUMMARY_TIMES_H

#include "collector/output/time_sums.h"

struct summary;

struct summary_times {
	struct time_sums sums;
	struct time_surplus surplus;
	uint64_t threads; /* threads with known states */
	uint64_t odd_threads; /* threads whose states do not add up to wall
			       * time */
	int odd_tid; /* the first odd thread */
};

/* Checks @summary, which was read from a file. Returns zeros if it has no
 * states of threads. */
struct summary_times summary_check_times(const struct summary *summary);

#endif
