/* SPDX-License-Identifier: Apache-2.0
 *
 * switch_cost - measures what a switch takes longer on this machine in threads
 * that have events of the kernel.
 */
#ifndef PERFREC_COLLECTOR_FILES_SWITCH_COST_H
#define PERFREC_COLLECTOR_FILES_SWITCH_COST_H

struct perf_wanted;

struct switch_costs {
	double all_ns; /* of all that is wanted */
	double told_ns; /* of it, for telling of the switch */
};

/* What one switch takes longer in threads that have an event that does what
 * @wanted says, with switches. Zero: not known, as the kernel has no such event
 * for this process, or no memory. Two threads, the caller and one that lives
 * until this returns, run for about 10 ms, at most for 200, on the CPU of the
 * caller, which may run on all of its CPUs again then. Any thread. */
struct switch_costs switch_cost_measure(const struct perf_wanted *wanted);

#endif
