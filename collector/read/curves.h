/* SPDX-License-Identifier: Apache-2.0
 *
 * curves - values of counters in a range of time. Each counter has its value at
 * the start of the range, and the least, greatest and last value of buckets of
 * 2^shift ns, counted from time 0. Buckets without a value are missing: the
 * counter keeps the last value of the bucket before.
 *
 * Results equal those of reading the whole trace. With the curves of the index
 * (docs/TRACE.md), the trace is only read where a bucket of the index overlaps
 * several requested buckets, or only a part of the range. A rough result reads
 * no trace. Without curves the range is read. Memory grows with the number of
 * counters and buckets. One thread at a time.
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
	/* An open range covers the whole trace, with buckets that may be very
	 * wide. */
	struct time_range range;
	uint32_t buckets; /* at most; 1 to CURVES_BUCKETS_MAX */
	/* Reads only the index. Values near the ends of the range, or of rarely
	 * set counters, may be in a neighbouring bucket. Exact if the index has
	 * no curves. */
	bool rough;
	/* The index of the trace, which outlives the curves. NULL: read it from
	 * the file beside the trace, if it exists. */
	const struct trace_index *index;
};

/* A shown value, after multiplication. */
union curve_value {
	int64_t whole;
	double real; /* if curve.is_double */
};

struct curve_point {
	uint64_t begin_ns; /* start of the bucket; may be before the range */
	uint64_t last_ns; /* time of the last value, in the range */
	/* min and max ignore NaN unless all values are NaN. */
	union curve_value min, max, last;
};

struct curve {
	uint64_t uuid;
	uint64_t is_double; /* 0 or 1 */
	/* Has name, unit and parent; valid until curves_free(). NULL: the trace
	 * does not describe it. */
	const struct trace_track *track;
	bool has_before; /* has a value at the start of the range */
	union curve_value before;
	uint64_t before_ns; /* time of that value */
	struct curve_point *points;
	uint32_t count, room;
};

struct curves {
	struct trace_reader *reader; /* has texts and tracks */
	const struct trace_index *index; /* the index in use; NULL: none */
	struct trace_index *own_index; /* the index, if this module read it */
	struct time_range *ranges; /* ranges read from the trace */
	bool by_curves; /* used the curves of the index; else read the whole
			 * range */
	unsigned int shift;
	struct curve *list; /* unordered; only counters with a value before the
			     * end of the range */
	uint32_t count;
	int err; /* of reading: 0 or -EBADMSG */
};

/* Reads the counters of the trace at @path. @progress may be NULL. Returns 0,
 * and the caller frees *@out with curves_free(); or -errno of
 * trace_reader_open(). Logs nothing. */
int curves_read(const char *path, const struct curves_wish *wish,
		const struct read_progress *progress, struct curves **out);
/* Frees *@curves, which may be NULL, and clears it. */
void curves_free(struct curves **curves);

#endif
