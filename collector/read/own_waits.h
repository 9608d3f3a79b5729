/* SPDX-License-Identifier: Apache-2.0
 *
 * own_waits - how much longer recording made each wait of a trace, at least. The
 * thread that it waited for was in a hook, or waited for room in its ring, or for a
 * CPU while other threads were in hooks. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_OWN_WAITS_H
#define PERFREC_COLLECTOR_READ_OWN_WAITS_H

#include <stdint.h>

#include "collector/read/trace_waits.h"

struct own_costs {
	double call_ns; /* CPU time for recording a call of the trace */
	uint64_t collector_ns; /* CPU time of the collector */
};

/* Sets own_ns of all @waits, which were read from the same trace at @path. Waits
 * whose end no record explains keep 0. Reads the calls and switches of the trace, a
 * damaged one up to the damage. @progress may be NULL. Returns 0. Returns -errno if
 * the file cannot be opened or memory is short; then some waits lack the figure.
 * Logs nothing. */
int own_waits_read(const char *path, const struct own_costs *costs,
		   const struct read_progress *progress,
		   struct trace_waits *waits);

#endif
