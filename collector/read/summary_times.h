/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_times - whether the times of a summary contradict each other, by
 * output/time_sums.h.
 */
#ifndef PERFREC_COLLECTOR_READ_SUMMARY_TIMES_H
#define PERFREC_COLLECTOR_READ_SUMMARY_TIMES_H

#include "collector/output/time_sums.h"

struct summary;

struct summary_times {
	struct time_sums sums;
	struct time_surplus surplus;
	uint64_t threads; /* whose states are known */
	uint64_t odd_threads; /* of these: states and wall time differ */
	int odd_tid; /* the first of them */
};

/* Checks @summary, which was read from a file. A summary without states of
 * threads has only zeros. */
struct summary_times summary_check_times(const struct summary *summary);

#endif
