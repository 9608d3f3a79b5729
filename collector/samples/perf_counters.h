/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_counters - the hardware counters of --counters: their kernel events,
 * their sampling periods, and which of them this machine has. The number of a
 * counter is its place in the list of --counters --help. A set of counters is a
 * mask of numbers.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_PERF_COUNTERS_H
#define PERFREC_COLLECTOR_SAMPLES_PERF_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct recording;

/* Returns the attributes of an event for counter @number; @no_kernel: user mode
 * only. Any thread. */
struct perf_event_attr perf_counter_attributes(uint32_t number, bool no_kernel);

/* Returns the place of counter @number among those in @mask, which includes it.
 */
static inline uint8_t perf_counter_place(uint32_t mask, uint32_t number)
{
	return (uint8_t)__builtin_popcount(mask & ((1u << number) - 1));
}

/* Returns the counters in @wanted that the calling thread can open. Sets *@err
 * to -errno of a counter that failed, or to 0. Any thread. */
uint32_t perf_counters_there(uint32_t wanted, int *err);

/* Notes in @recording that the counters @missing are not available, because of
 * @err. Does nothing if @missing is 0. Any thread. */
void perf_counters_explain(struct recording *recording, uint32_t missing,
			   int err);

#endif
