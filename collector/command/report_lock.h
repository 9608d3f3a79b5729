/* SPDX-License-Identifier: Apache-2.0
 *
 * report_lock - `perfrec report --view lock`: for whom threads waited. Each lock
 * has its waits, and the functions and threads that held it meanwhile. Condition
 * variables, semaphores and the like have their wakers instead.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_REPORT_LOCK_H
#define PERFREC_COLLECTOR_COMMAND_REPORT_LOCK_H

#include <stdio.h>

struct report_trace_options;

/* See report_trace_view.print. */
int report_lock_print(const struct report_trace_options *options, FILE *out);

#endif
