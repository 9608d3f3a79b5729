/* SPDX-License-Identifier: Apache-2.0
 *
 * report_path - `perfrec report --view path [FUNC]`: the critical path of the run,
 * or of each call of FUNC, by function and thread; FUNC as for perfrec find.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_REPORT_PATH_H
#define PERFREC_COLLECTOR_COMMAND_REPORT_PATH_H

#include <stdio.h>

struct report_trace_options;

/* See report_trace_view.print. */
int report_path_print(const struct report_trace_options *options, FILE *out);

#endif
