/* SPDX-License-Identifier: Apache-2.0
 *
 * time_from - the one rule for where the times of functions come from. Pure.
 *
 * A recorded call tells its time by two clock reads. Where calls were only
 * counted, or not even that, recorded calls know too little: the time of the
 * others is in their callers. CPU samples and the stacks of waits know of all
 * calls alike, with the error of their number.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_TIME_FROM_H
#define PERFREC_COLLECTOR_PROFILE_TIME_FROM_H

#include <stdbool.h>
#include <stdint.h>

/* This many samples are better than recorded calls if others were not recorded.
 */
#define TIME_SAMPLES_MIN 25
/* This many are better than recorded times of which half was perfrec's own. The
 * error of those times grows with the ratio of perfrec's part to the rest, and
 * that of n samples is in proportion to 1/sqrt(n). So if the ratio is 1/2, four
 * times as many samples are better. The number is between that of Lua, whose
 * recorded times were 36 points off at a ratio of 3, and that of bzip2, with 10
 * to 23 points at 1/2; 200 samples are 8 to 14 points off (make check-truth).
 */
#define TIME_SAMPLES_ROUGH 75
/* Where perfrec's part is smaller than this part of the rest, recorded times
 * are good. */
#define TIME_OWN_PART_MIN (1. / 3)

enum time_from {
	TIME_FROM_CALLS,
	TIME_FROM_SAMPLES,
};

struct time_facts {
	bool muted; /* not every call of every function was recorded */
	bool waits; /* the stacks of blocked threads are known */
	uint64_t samples; /* of CPU time, without those in perfrec's own code */
	/* The self times of functions on a CPU: perfrec's part, and the rest,
	 * which is below 0 if more was subtracted than there was. */
	double own_ns, left_ns;
};

/* Adds a function to @facts. @own_ns was subtracted from its self times, which
 * are now @ran_ns on a CPU and @runnable_ns. kernel_counts_fit() subtracts from
 * both in proportion. But hooks run on a CPU, so this takes @own_ns from the
 * time on a CPU alone; else, on a busy machine, too much would seem to be left.
 */
void time_facts_add(struct time_facts *facts, double ran_ns, double runnable_ns,
		    double own_ns);
enum time_from time_from_choose(const struct time_facts *facts);
/* "calls" or "samples": the member time_from of a summary. */
const char *time_from_text(enum time_from from);

#endif
