/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_write - writes a stretch of what the flight recorder has in memory as
 * a trace of its own.
 */
#ifndef PERFREC_COLLECTOR_FLIGHT_FLIGHT_WRITE_H
#define PERFREC_COLLECTOR_FLIGHT_FLIGHT_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/cut/packet_window.h"

struct flight_memory;

struct flight_wish {
	struct flight_memory *memory;
	uint64_t from_ns, to_ns; /* CLOCK_BOOTTIME; from < to */
	const char *of; /* what it is of, for people: the trace says it */
	bool compress;
};

struct flight_result {
	struct packet_window_totals totals;
	uint64_t bytes; /* of the trace */
	uint64_t kept_from_ns; /* what is before may be missing; 0: nothing is
				*/
};

/* Writes the trace to @out, which stays the caller's. All that the memory was
 * given before the call is in it, from where on the memory has all. 0; or
 * -errno of writing, or -ENOMEM: what was written then is no whole trace. Any
 * thread; the memory goes on being written meanwhile. Logs nothing. */
int flight_write(const struct flight_wish *wish, FILE *out,
		 struct flight_result *result);

#endif
