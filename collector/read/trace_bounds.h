/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_bounds - when a recording began and ended, from its trace. One thread
 * at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_BOUNDS_H
#define PERFREC_COLLECTOR_READ_TRACE_BOUNDS_H

#include "collector/read/time_range.h"
#include "collector/read/trace_packets.h"

struct trace_index;

/* Reads the bounds of the trace at @path by its @index; NULL: by that which
 * lies beside it, if there is one. @progress may be NULL. What is cut or
 * damaged is read as far as it goes. Returns 0, or -errno of opening the file
 * or for want of memory. Logs nothing. */
int trace_bounds_read(const char *path, const struct trace_index *index,
		      const struct read_progress *progress,
		      struct trace_bounds *out);

#endif
