/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_counters - the hardware counters that --counters knows: which events of
 * the kernel they are, how often they are sampled, and which of them this
 * machine has. A counter has a number: its place in the list of --counters
 * --help. A set of counters is a mask of these.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_PERF_COUNTERS_H
#define PERFREC_COLLECTOR_SAMPLES_PERF_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct recording;

/* The attributes of an event for counter @number; with @no_kernel only of user
 * mode. Any thread. */
struct perf_event_attr perf_counter_attributes(uint32_t number, bool no_kernel);

/* The place of counter @number among those of @mask, which has it. */
static inline uint8_t perf_counter_place(uint32_t mask, uint32_t number)
{
	return (uint8_t)__builtin_popcount(mask & ((1u << number) - 1));
}

/* Those of @wanted that this machine has and this user may have, found out by
 * opening them for the calling thread. *@err: why not the others, -errno of one
 * of them; 0: all are there. Any thread. */
uint32_t perf_counters_there(uint32_t wanted, int *err);

/* Puts into @recording's notes that the counters @missing are not there, as
 * @err says. Does nothing if there are none. Any thread. */
void perf_counters_explain(struct recording *recording, uint32_t missing,
			   int err);

#endif
