/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_write - writes a span of the flight recorder's memory as a separate
 * trace.
 */
#ifndef PERFREC_COLLECTOR_RECORD_FLIGHT_WRITE_H
#define PERFREC_COLLECTOR_RECORD_FLIGHT_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/cut/packet_window.h"

struct flight_memory;

struct flight_wish {
	struct flight_memory *memory;
	uint64_t from_ns, to_ns; /* CLOCK_BOOTTIME; from < to */
	const char *of; /* description for readers of the trace */
	bool compress;
};

struct flight_result {
	struct packet_window_totals totals;
	uint64_t bytes;
	uint64_t kept_from_ns; /* earlier events may be missing; 0: complete */
};

/* Writes the trace to @out, which the caller owns. It has all events that
 * reached the memory before the call, from the time on that the memory still
 * covers. Returns 0, -ENOMEM or -errno of writing; on an error the trace is
 * incomplete. Any thread; other threads may write to the memory meanwhile. */
int flight_write(const struct flight_wish *wish, FILE *out,
		 struct flight_result *result);

#endif
