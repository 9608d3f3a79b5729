/* SPDX-License-Identifier: Apache-2.0
 *
 * switch_cost - measures what a program pays on this machine for it that the
 * kernel tells of a switch of one of its threads.
 */
#ifndef PERFREC_COLLECTOR_FILES_SWITCH_COST_H
#define PERFREC_COLLECTOR_FILES_SWITCH_COST_H

struct perf_wanted;

/* What one switch takes longer, in ns, in threads that have an event that does
 * what @wanted says. 0: not known, as the kernel has no such event for this
 * process, or no memory. Two threads, the caller and one that lives until this
 * returns, run for about 10 ms, at most for 200, on the CPU of the caller,
 * which may run on all of its CPUs again then. Any thread. */
double switch_cost_ns(const struct perf_wanted *wanted);

#endif
