/* SPDX-License-Identifier: Apache-2.0
 *
 * switch_cost - measures what a switch takes longer on this machine in threads
 * that have events of the kernel.
 */
#ifndef PERFREC_COLLECTOR_FILES_SWITCH_COST_H
#define PERFREC_COLLECTOR_FILES_SWITCH_COST_H

struct perf_wanted;

struct switch_costs {
	double all_ns; /* of all wanted events */
	double told_ns; /* the part for reporting the switch */
};

/* Returns the extra ns of a switch in threads with the events @wanted and
 * switches. Zero if unknown, because the kernel lacks such an event for this
 * process, or memory. Two threads, the caller and a temporary one, run for
 * about 10 ms, at most 200, on the CPU of the caller, which may run on all of
 * its CPUs again afterwards. Any thread. */
struct switch_costs switch_cost_measure(const struct perf_wanted *wanted);

#endif
