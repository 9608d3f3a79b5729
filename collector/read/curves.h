/* SPDX-License-Identifier: Apache-2.0
 *
 * curves - what counters were like in a range of time: for each counter the
 * value that it had when the range began, and least, greatest and last value in
 * buckets of 2^shift ns, counted from time 0. Buckets without a value are left
 * out: the counter has the last value of the bucket before.
 *
 * What it gives is what one finds who reads all of the trace. By the curves of
 * the index (docs/INDEX.md) it reads only where a bucket of the index is in
 * several of those that are asked for, or only partly in the range; or nothing,
 * if it need not be exact. Without these it reads the range. Memory grows with
 * the number of counters and buckets. One thread at a time.
 *
 *   curves_read(path, &wish, NULL, &curves);
 *   for (i = 0; i < curves->count; i++)
 *           for (j = 0; j < curves->list[i].count; j++)
 *                   draw(&curves->list[i].points[j]);
 *   curves_free(&curves);
 */
#ifndef PERFREC_COLLECTOR_READ_CURVES_H
#define PERFREC_COLLECTOR_READ_CURVES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/time_range.h"
#include "collector/read/trace_read.h"

#define CURVES_BUCKETS_MAX 65536u

struct trace_index;

struct curves_wish {
	/* Where it is open, all of the trace lies within buckets that may be
	 * very wide. */
	struct time_range range;
	uint32_t buckets; /* at most; 1 to CURVES_BUCKETS_MAX */
	/* At most so many counters, those that come first; 0: all. */
	uint32_t most;
	/* Nothing is read for it but the index: values near the ends of the
	 * range, or of counters that were set seldom, may be in a bucket beside
	 * theirs. Without curves in the index it is exact. */
	bool rough;
	/* Of the trace, if somebody has read it; outlives the curves. NULL: it
	 * is read, if it lies beside the trace. */
	const struct trace_index *index;
};

/* As a counter shows it: multiplied. */
union curve_value {
	int64_t whole;
	double real; /* if curve.is_double */
};

struct curve_point {
	uint64_t begin_ns; /* of the bucket: may be before the range */
	uint64_t last_ns; /* when it got the last value: within the range */
	/* Least and greatest without NaN, if there is anything else. */
	union curve_value min, max, last;
};

/* A counter. */
struct curve {
	uint64_t uuid;
	uint64_t is_double; /* 0 or 1 */
	/* For name, unit, parent; until curves_free(). NULL: not described. */
	const struct trace_track *track;
	bool has_before; /* it had a value when the range began */
	union curve_value before;
	uint64_t before_ns; /* since when */
	struct curve_point *points; /* by time */
	uint32_t count, room;
};

struct curves {
	struct trace_reader *reader; /* for texts and tracks */
	const struct trace_index *index; /* by which it was read; NULL: there is
					  * none */
	struct trace_index *own_index; /* if it was read for this */
	struct time_range *ranges; /* that were read by it */
	bool by_curves; /* of the index; else all of the range was read */
	unsigned int shift;
	struct curve *list; /* in no order; those without a value up to the end
			     * of the range are left out */
	uint32_t count;
	uint64_t refused; /* values, or buckets, of counters beyond the most */
	int err; /* of reading what there is: 0 or -EBADMSG */
};

/* Reads the counters of the trace at @path. @progress may be NULL. Returns 0;
 * the caller then ends *@out by curves_free(). Or -errno, as
 * trace_reader_open(). Logs nothing. */
int curves_read(const char *path, const struct curves_wish *wish,
		const struct read_progress *progress, struct curves **out);
/* Frees *@curves, which may be NULL, and clears it. */
void curves_free(struct curves **curves);

#endif
