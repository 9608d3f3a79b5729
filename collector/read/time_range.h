/* SPDX-License-Identifier: Apache-2.0
 *
 * time_range - a stretch of a recording. People give times from the first slice
 * of the recording: the smallest begin of a slice of a thread or a context. A
 * range [FROM, TO) is half-open: it has the events with FROM <= ns < TO.
 */
#ifndef PERFREC_COLLECTOR_READ_TIME_RANGE_H
#define PERFREC_COLLECTOR_READ_TIME_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_BOOTTIME, ns. */
struct time_range {
	uint64_t from_ns, to_ns;
};

/* All of a recording. */
#define TIME_RANGE_ALL ((struct time_range){ 0, UINT64_MAX })

/* When a recording began and ended, CLOCK_BOOTTIME ns. */
struct trace_bounds {
	uint64_t first_ns; /* begin of the first slice; 0: there is none */
	uint64_t last_ns; /* of the last event, waits not counted */
};

/* What a person gave, ns from the first slice. All zero: all of it. */
struct time_wish {
	bool has_from, has_to;
	uint64_t from_ns, to_ns;
};

enum time_range_error {
	TIME_RANGE_FINE,
	TIME_RANGE_EMPTY, /* FROM and TO are the same, or TO is 0 */
	TIME_RANGE_REVERSED, /* TO is before FROM */
	TIME_RANGE_BEYOND, /* FROM is after the last event */
	TIME_RANGE_NO_CALLS, /* nothing has begun, so no time is known */
};

/* Whether @wish can be a range of any recording: what is wrong with it, or
 * TIME_RANGE_FINE. Pure. */
enum time_range_error time_wish_check(const struct time_wish *wish);
/* Sets *@out to the range of a recording with @bounds. A side that was not
 * given is open: with neither the range is TIME_RANGE_ALL, which has what was
 * before the first slice, too. A TO after the end is fine. Pure. */
enum time_range_error time_range_make(const struct time_wish *wish,
				      const struct trace_bounds *bounds,
				      struct time_range *out);

#define TIME_RANGE_TEXT 32

/* Writes @ns as a person can type it for a time, exactly, into @text, and
 * returns @text: "1.250003s", "30us", "0s". Pure. */
char *time_range_text(uint64_t ns, char text[TIME_RANGE_TEXT]);

#endif
