/* SPDX-License-Identifier: Apache-2.0
 *
 * export_trace - `perfrec export --to perfetto`: the trace of a recording with its
 * critical path as one more track. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_EXPORT_TRACE_H
#define PERFREC_COLLECTOR_COMMAND_EXPORT_TRACE_H

#include <stdio.h>

#include "collector/command/call_command.h"

/* Writes the trace of @call's recording to @out. The path is that of the chosen range
 * and thread. Returns as export_part_write(). */
int export_trace_write(struct call_command *call, FILE *out);

#endif
