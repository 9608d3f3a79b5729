/* SPDX-License-Identifier: Apache-2.0
 *
 * time_range - a stretch of a recording. Users count times from the first
 * slice: the earliest start of a slice of a thread or a context. A range [FROM,
 * TO) is half-open: it has the events with FROM <= ns < TO.
 */
#ifndef PERFREC_COLLECTOR_READ_TIME_RANGE_H
#define PERFREC_COLLECTOR_READ_TIME_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_BOOTTIME, ns. */
struct time_range {
	uint64_t from_ns, to_ns;
};

#define TIME_RANGE_ALL ((struct time_range){ 0, UINT64_MAX })

/* Start and end of a recording, CLOCK_BOOTTIME ns. */
struct trace_bounds {
	uint64_t first_ns; /* start of the first slice; 0: none */
	uint64_t last_ns; /* of the last event except waits */
	bool unsure; /* parts of the trace were skipped for lack of memory */
};

/* A range from the user, ns from the first slice. All zero: everything. */
struct time_wish {
	bool has_from, has_to;
	uint64_t from_ns, to_ns;
};

enum time_range_error {
	TIME_RANGE_FINE,
	TIME_RANGE_EMPTY, /* FROM and TO are equal, or TO is 0 */
	TIME_RANGE_REVERSED, /* TO is before FROM */
	TIME_RANGE_BEYOND, /* FROM is after the last event */
	TIME_RANGE_NO_CALLS, /* there is no first slice to count from */
};

/* Returns the error of @wish that is independent of a recording, or
 * TIME_RANGE_FINE. Pure. */
enum time_range_error time_wish_check(const struct time_wish *wish);
/* Sets *@out to the range of a recording with @bounds. A missing side is open.
 * Without both sides the range is TIME_RANGE_ALL, which also has events before
 * the first slice. TO may be after the end. Pure. */
enum time_range_error time_range_make(const struct time_wish *wish,
				      const struct trace_bounds *bounds,
				      struct time_range *out);

#define TIME_RANGE_TEXT 32

/* Writes @ns exactly, in the form that the user types, into @text: "1.250003s",
 * "30us", "0s". Returns @text. Pure. */
char *time_range_text(uint64_t ns, char text[TIME_RANGE_TEXT]);

#endif
