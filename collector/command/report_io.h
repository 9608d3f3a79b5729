/* SPDX-License-Identifier: Apache-2.0
 *
 * report_io - `perfrec report --view io`: the files and sockets that a program
 * used, by the calls of the C library's functions in its trace
 * (record --calls-to).
 *
 * A descriptor is the file of the last open() before. The trace has no order
 * between threads, so it is read twice: first for the calls that make and close
 * descriptors, then for all calls.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_REPORT_IO_H
#define PERFREC_COLLECTOR_COMMAND_REPORT_IO_H

#include <stdio.h>

struct report_trace_options;

/* See report_trace_view.print. */
int report_io_print(const struct report_trace_options *options, FILE *out);

#endif
