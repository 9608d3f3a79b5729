/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_bounds - reads the start and end of a recording from its trace. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_BOUNDS_H
#define PERFREC_COLLECTOR_READ_TRACE_BOUNDS_H

#include "collector/read/time_range.h"
#include "collector/read/trace_packets.h"

struct trace_index;

/* Reads the bounds of the trace at @path with @index; NULL: the index beside
 * it, if any. @progress may be NULL. A truncated or damaged trace is read up to
 * the damage. Returns 0, -errno of opening or reading the file, or -ENOMEM.
 * Logs nothing. */
int trace_bounds_read(const char *path, const struct trace_index *index,
		      const struct read_progress *progress,
		      struct trace_bounds *out);

#endif
