/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_sched - what threads did while they were recorded, for a person: how
 * long they ran, waited for a CPU and were blocked, and how well that is known.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_SCHED_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_SCHED_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/read/summary_read.h"

/* Whether @summary knows when threads ran: it was recorded with --sched on, by
 * a perfrec that has it, and the kernel told of a thread. Else all its values
 * are 0. */
bool summary_sched_known(const struct summary *summary);

/* One line for the user: the recording in @dir does not know that, and why.
 * @what is what was asked for, such as "--sort blocked". */
void summary_sched_log_unknown(const struct summary *summary, const char *dir,
			       const char *what);

/* Print the line "threads" to @out, with what is odd about its times below; or
 * nothing, if nothing is known. */
void summary_sched_print(const struct summary *summary, FILE *out);

/* Print to @out that what the kernel told of switches took much of the CPU time
 * of the programs, or nothing. */
void summary_sched_print_cost(const struct summary *summary, FILE *out);

#endif
