/* SPDX-License-Identifier: Apache-2.0
 *
 * time_from - the single rule for the source of functions' times. Pure.
 *
 * A recorded call has its time from two clock reads. If calls were only counted
 * or unknown, recorded calls do not suffice: the time of the others is in their
 * callers. CPU samples and stacks of waits cover all calls equally, with the
 * error of their number.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_TIME_FROM_H
#define PERFREC_COLLECTOR_PROFILE_TIME_FROM_H

#include <stdbool.h>
#include <stdint.h>

/* With unrecorded calls, this many samples are better than recorded calls. */
#define TIME_SAMPLES_MIN 25
/*
 * If half of the recorded times was perfrec's own, this many samples are better.
 * The error of recorded times grows with the ratio of perfrec's part to the rest,
 * and the error of n samples is in proportion to 1/sqrt(n). So at a ratio of
 * 1/2, four times as many samples are better. The number is between that of
 * Lua, whose recorded times were 36 points off at a ratio of 3, and that of
 * bzip2, with 10 to 23 points at 1/2; 200 samples are 8 to 14 points off (make
 * check-truth).
 */
#define TIME_SAMPLES_ROUGH 75
/* If perfrec's part is smaller than this part of the rest, recorded times are
 * good. */
#define TIME_OWN_PART_MIN (1. / 3)

enum time_from {
	TIME_FROM_CALLS,
	TIME_FROM_SAMPLES,
};

struct time_facts {
	bool muted; /* some calls of some function were not recorded */
	bool waits; /* stacks of blocked threads are known */
	uint64_t samples; /* of CPU time, outside of perfrec's own code */
	/* Self times of functions on a CPU: perfrec's part, and the rest, which
	 * is negative if more was subtracted than there was. */
	double own_ns, left_ns;
};

/*
 * Adds a function to @facts. @own_ns was subtracted from its self times, now
 * @ran_ns on a CPU and @runnable_ns. kernel_counts_fit() subtracts from both in
 * proportion. But hooks run on a CPU, so this subtracts @own_ns from the time
 * on a CPU only. Otherwise the rest would seem too large on a busy machine.
 */
void time_facts_add(struct time_facts *facts, double ran_ns, double runnable_ns,
		    double own_ns);
enum time_from time_from_choose(const struct time_facts *facts);
/* Returns "calls" or "samples", the member time_from of a summary. */
const char *time_from_text(enum time_from from);

#endif
