/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_sched - times of threads on CPUs, runnable and blocked, and their
 * accuracy.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_SCHED_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_SCHED_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/read/summary_read.h"

/* Returns true if @summary has times on CPUs: recorded with --sched on by a
 * perfrec with that option, and the kernel reported at least one thread.
 * Otherwise these values are 0. */
bool summary_sched_known(const struct summary *summary);

/* Returns the blocked share of the functions' self time; 0 if unknown. */
double summary_sched_waiting(const struct summary *summary);

/* Above this share, tables sort functions by their time on CPUs, so that
 * threads asleep are not on top. */
#define SUMMARY_WAITING_MOST 0.5

/* Prints a line that explains this order. */
void summary_sched_print_order(const struct summary *summary, FILE *out);

/* Logs that the recording in @dir lacks these times, and why. @what is the
 * user's option, such as "--sort blocked". */
void summary_sched_log_unknown(const struct summary *summary, const char *dir,
			       const char *what);

/* Prints the line "threads" and notes about its times, or nothing if
 * unknown. */
void summary_sched_print(const struct summary *summary, FILE *out);

/* Prints a line if recording switches took much of the programs' CPU time. */
void summary_sched_print_cost(const struct summary *summary, FILE *out);

#endif
