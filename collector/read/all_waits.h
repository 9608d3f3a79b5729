/* SPDX-License-Identifier: Apache-2.0
 *
 * all_waits - the waits of a trace's threads. Some waits have no slice: then the
 * thread was off the CPU for 10 us, and was not preempted. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_ALL_WAITS_H
#define PERFREC_COLLECTOR_READ_ALL_WAITS_H

#include "collector/read/trace_packets.h"
#include "collector/read/trace_sched.h"
#include "collector/read/trace_waits.h"

/* Reads the trace at @path. @progress may be NULL. Returns 0, and the caller frees
 * *@sched with trace_sched_free(), which is NULL if the trace has no switches,
 * and *@waits with trace_waits_free(). Returns -errno as trace_sched_read() and
 * trace_waits_read() do; then both are NULL. Logs nothing. */
int all_waits_read(const char *path, const struct read_progress *progress,
		   struct trace_sched **sched, struct trace_waits **waits);

#endif
