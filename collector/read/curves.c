/* SPDX-License-Identifier: Apache-2.0
 *
 * curves - with an index, two passes over its curves. The first pass finds the
 * ranges of the trace that must be read. The second pass takes the values from
 * the index, after reading has described all tracks. Taking a value twice does
 * no harm.
 */
#include "collector/read/curves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/base/search.h"
#include "collector/read/index_curve_set.h"
#include "collector/read/trace_parts.h"
#include "shared/compiler.h"

/* perfrec's traces have fewer values in front of the description of their
 * track. */
#define EARLY_MAX (1u << 20)

/* Parts of the trace that must be read. */
struct needs {
	struct time_range *ranges;
	uint32_t count, room;
	uint64_t *sequences; /* a bit for each of index->sequences */
	bool apart;
	int err;
};

/* A value in front of the description of its counter. */
struct early_value {
	uint64_t uuid;
	bool real;
	struct index_bucket bucket;
};

struct reading {
	const struct curves_wish *wish;
	struct curves *curves;
	struct index_curve_set set;
	struct needs needs;
	bool taking; /* the second pass */
	struct pool list; /* struct curve, by uuid and is_double */
	/* Last values may be in front of the packets of their extent. */
	struct early_value *early;
	uint32_t early_count, early_room;
	int err;
};

/* --- values -------------------------------------------------------------- */

static uint64_t bits_of(union curve_value value)
{
	return (uint64_t)value.whole;
}

static union curve_value value_of(uint64_t bits)
{
	return (union curve_value){ .whole = (int64_t)bits };
}

static struct index_bucket bucket_of(const struct curve_point *point)
{
	return (struct index_bucket){ .last_ns = point->last_ns,
				      .min = bits_of(point->min),
				      .max = bits_of(point->max),
				      .last = bits_of(point->last) };
}

/* Returns the curve of the counter; NULL: no memory. */
static struct curve *curve_of(struct reading *reading, uint64_t uuid, bool real)
{
	const struct curve key = { .uuid = uuid, .is_double = real };
	uint32_t number;

	if (pool_intern(&reading->list, &key, &number) < 0) {
		reading->err = -ENOMEM;
		return NULL;
	}
	return (struct curve *)reading->list.items + number;
}

static void take_before(struct curve *curve, uint64_t ns, uint64_t last)
{
	if (curve->has_before && ns < curve->before_ns)
		return;
	curve->has_before = true;
	curve->before_ns = ns;
	curve->before = value_of(last);
}

/* Returns the place of the point at @begin_ns, where it may have to be
 * inserted. */
static uint32_t place_of(const struct curve *curve, uint64_t begin_ns)
{
	uint32_t count = curve->count;

	if (!count || curve->points[count - 1].begin_ns < begin_ns)
		return count;
	return search_first(i, count, curve->points[i].begin_ns >= begin_ns);
}

static void take_inside(struct reading *reading, struct curve *curve,
			const struct index_bucket *bucket)
{
	unsigned int shift = reading->curves->shift;
	uint64_t begin_ns = bucket->last_ns >> shift << shift;
	uint32_t at = place_of(curve, begin_ns);
	struct index_bucket sum = *bucket;

	if (at < curve->count && curve->points[at].begin_ns == begin_ns) {
		sum = bucket_of(&curve->points[at]);
		index_bucket_join(&sum, curve->is_double, bucket);
	} else if (grow_array(curve->points, curve->room, curve->count + 1)) {
		reading->err = -ENOMEM;
		return;
	} else {
		memmove(curve->points + at + 1, curve->points + at,
			(curve->count - at) * sizeof(*curve->points));
		curve->count++;
	}
	curve->points[at] = (struct curve_point){
		.begin_ns = begin_ns,
		.last_ns = sum.last_ns,
		.min = value_of(sum.min),
		.max = value_of(sum.max),
		.last = value_of(sum.last),
	};
}

/* Adds @bucket, which lies in one bucket of @curve, or before or behind the
 * range. */
static void take_bucket(struct reading *reading, struct curve *curve,
			const struct index_bucket *bucket)
{
	const struct time_range *range = &reading->wish->range;

	if (bucket->last_ns < range->from_ns)
		take_before(curve, bucket->last_ns, bucket->last);
	else if (bucket->last_ns < range->to_ns)
		take_inside(reading, curve, bucket);
}

/* --- values of the index ----------------------------------------------- */

static void scale(struct index_bucket *bucket, const struct trace_track *track,
		  bool real)
{
	uint64_t swap;

	if (!track || track->multiplier == 1)
		return;
	bucket->min = trace_scale_counter(track, real, bucket->min);
	bucket->max = trace_scale_counter(track, real, bucket->max);
	bucket->last = trace_scale_counter(track, real, bucket->last);
	if (track->multiplier >= 0)
		return;
	swap = bucket->min;
	bucket->min = bucket->max;
	bucket->max = swap;
}

static void keep_early(struct reading *reading, const struct trace_event *event,
		       const struct index_bucket *bucket)
{
	if (grow_array(reading->early, reading->early_room,
		       reading->early_count + 1))
		reading->err = -ENOMEM;
	else
		reading->early[reading->early_count++] =
			(struct early_value){ event->track->uuid,
					      event->is_double, *bucket };
}

static void take_curve_event(struct reading *reading,
			     const struct trace_event *event)
{
	union curve_value value = { .whole = event->value };
	struct index_bucket bucket = { .last_ns = event->ns };
	struct curve *curve;

	if (event->is_double)
		value.real = event->real;
	bucket.min = bucket.max = bucket.last = bits_of(value);
	if (event->track->kind != TRACE_TRACK_COUNTER &&
	    reading->early_count < EARLY_MAX) {
		keep_early(reading, event, &bucket);
		return;
	}
	curve = curve_of(reading, event->track->uuid, event->is_double);
	if (curve)
		take_bucket(reading, curve, &bucket);
}

/* Called at the end, when all tracks are described. */
static void take_early(struct reading *reading)
{
	for (uint32_t i = 0; i < reading->early_count && !reading->err; i++) {
		struct early_value *early = &reading->early[i];
		struct curve *curve =
			curve_of(reading, early->uuid, early->real);

		if (!curve)
			continue;
		scale(&early->bucket,
		      trace_reader_find_track(reading->curves->reader,
					      early->uuid),
		      early->real);
		take_bucket(reading, curve, &early->bucket);
	}
}

static int compare_ranges(const void *a, const void *b)
{
	const struct time_range *one = a, *other = b;

	return one->from_ns < other->from_ns ? -1
					     : one->from_ns > other->from_ns;
}

static void join_ranges(struct needs *needs)
{
	uint32_t kept = 0;

	if (!needs->count)
		return;
	qsort(needs->ranges, needs->count, sizeof(*needs->ranges),
	      compare_ranges);
	for (uint32_t i = 1; i < needs->count; i++) {
		struct time_range range = needs->ranges[i];

		if (range.from_ns <= needs->ranges[kept].to_ns)
			needs->ranges[kept].to_ns =
				MAX(needs->ranges[kept].to_ns, range.to_ns);
		else
			needs->ranges[++kept] = range;
	}
	needs->count = kept + 1;
}

static void need(struct reading *reading,
		 const struct index_curve_counter *counter,
		 struct time_range range)
{
	struct needs *needs = &reading->needs;
	const struct index_sequence *sequence;
	size_t at;

	if (grow_array(needs->ranges, needs->room, needs->count + 1)) {
		reading->err = -ENOMEM;
		return;
	}
	needs->ranges[needs->count++] = range;
	/* Many counters may need the same range. */
	if (needs->count == needs->room)
		join_ranges(needs);
	if (!counter->sequence) {
		needs->apart = true;
		return;
	}
	sequence =
		trace_index_sequence(reading->curves->index, counter->sequence);
	if (!sequence)
		return;
	at = (size_t)(sequence - reading->curves->index->sequences);
	needs->sequences[at / 64] |= UINT64_C(1) << (at % 64);
}

/* Returns true if a bucket from @begin_ns to @end_ns lies before or behind the
 * range, or in one of its buckets. */
static bool is_together(const struct reading *reading, uint64_t begin_ns,
			uint64_t end_ns)
{
	const struct time_range *range = &reading->wish->range;
	unsigned int shift = reading->curves->shift;

	return end_ns <= range->from_ns || begin_ns >= range->to_ns ||
	       (begin_ns >= range->from_ns && end_ns <= range->to_ns &&
		begin_ns >> shift == (end_ns - 1) >> shift);
}

static void look_at_bucket(struct reading *reading,
			   const struct index_curve_counter *counter,
			   struct curve *curve, struct index_bucket bucket,
			   unsigned int shift)
{
	uint64_t begin_ns = bucket.number << shift;
	uint64_t end_ns = begin_ns + (UINT64_C(1) << shift);

	if (reading->wish->rough || !bucket.several ||
	    is_together(reading, begin_ns, end_ns)) {
		if (!reading->taking)
			return;
		scale(&bucket, curve->track, counter->real);
		take_bucket(reading, curve, &bucket);
	} else if (!reading->taking) {
		need(reading, counter,
		     (struct time_range){
			     begin_ns,
			     MIN(end_ns, reading->wish->range.to_ns) });
	}
}

static void look_at_block(struct reading *reading,
			  const struct index_curve_counter *counter,
			  struct curve *curve,
			  const struct index_curve_block *block)
{
	struct index_bucket bucket = { .number = block->head.first };
	struct index_get buckets = block->buckets;

	while (!reading->err &&
	       index_curve_next(&buckets, &block->head, counter->real, &bucket))
		look_at_bucket(reading, counter, curve, bucket,
			       block->head.shift);
	if (buckets.bad)
		reading->err = -EBADMSG;
}

/* Returns true if @block is as useful as the finer blocks that it covers. */
static bool is_fine(const struct reading *reading,
		    const struct index_curve_block *block)
{
	const struct time_range *range = &reading->wish->range;
	uint64_t begin_ns = index_curve_begin(block);
	uint64_t end_ns = index_curve_end(block);

	return end_ns <= range->from_ns || begin_ns >= range->to_ns ||
	       (begin_ns >= range->from_ns && end_ns <= range->to_ns &&
		block->head.shift <= reading->curves->shift);
}

static void look_at_counter(struct reading *reading,
			    const struct index_curve_counter *counter)
{
	uint64_t next = 0; /* next block of level 0 */
	struct curve *curve = NULL;

	if (reading->taking) {
		curve = curve_of(reading, counter->uuid, counter->real);
		if (!curve)
			return;
		curve->track = trace_reader_find_track(reading->curves->reader,
						       counter->uuid);
	}
	for (uint32_t i = 0; i < counter->count && !reading->err; i++) {
		const struct index_curve_block *block = &counter->blocks[i];

		if (block->first < next ||
		    (block->head.level && !is_fine(reading, block)))
			continue;
		next = block->last + 1ULL;
		if (index_curve_begin(block) < reading->wish->range.to_ns)
			look_at_block(reading, counter, curve, block);
	}
}

static void look_at_all(struct reading *reading, bool taking)
{
	reading->taking = taking;
	for (uint32_t i = 0; i < reading->set.count && !reading->err; i++)
		look_at_counter(reading, &reading->set.counters[i]);
}

/* --- reading ------------------------------------------------------------- */

static int read_curve_events(struct reading *reading)
{
	struct trace_event event;
	int got = 0;

	while (!reading->err &&
	       (got = trace_reader_next(reading->curves->reader, &event)) > 0)
		if (event.kind == TRACE_COUNTER)
			take_curve_event(reading, &event);
	take_early(reading);
	if (reading->err)
		return reading->err;
	reading->curves->err = got == -EBADMSG ? got : 0;
	return got == -EBADMSG ? 0 : got;
}

static int read_range(struct reading *reading, const char *path,
		      const struct read_progress *progress)
{
	struct curves *curves = reading->curves;
	struct parts_choice choice = { .range_count = 1 };
	int err;

	free(curves->ranges);
	curves->ranges = malloc(sizeof(*curves->ranges));
	if (!curves->ranges)
		return -ENOMEM;
	*curves->ranges = reading->wish->range;
	choice.ranges = curves->ranges;
	err = trace_reader_open_parts(path, curves->index, &choice,
				      &curves->reader);
	if (err)
		return err;
	if (progress)
		trace_reader_set_progress(reading->curves->reader, progress);
	return read_curve_events(reading);
}

static bool is_needed(void *context, const struct index_sequence *sequence)
{
	const struct reading *reading = context;
	size_t at = (size_t)(sequence - reading->curves->index->sequences);

	return reading->needs.sequences[at / 64] >> (at % 64) & 1;
}

static int read_needed(struct reading *reading, const char *path)
{
	struct parts_choice choice = { .has = is_needed,
				       .context = reading,
				       .no_rest = !reading->needs.apart };
	int err;

	join_ranges(&reading->needs);
	reading->curves->ranges = reading->needs.ranges;
	reading->needs.ranges = NULL;
	choice.ranges = reading->curves->ranges;
	choice.range_count = reading->needs.count;
	err = trace_reader_open_parts(path, reading->curves->index, &choice,
				      &reading->curves->reader);
	return err ?: read_curve_events(reading);
}

/* Returns 0; -EBADMSG: the index is damaged; or another -errno. */
static int read_by_index(struct reading *reading, const char *path)
{
	const struct trace_index *index = reading->curves->index;
	int err = index_curve_set_make(index, &reading->set);

	if (err)
		return err;
	reading->needs.sequences = calloc(index->sequence_count / 64 + 1,
					  sizeof(*reading->needs.sequences));
	if (!reading->needs.sequences)
		return -ENOMEM;
	look_at_all(reading, false);
	err = reading->err ?: read_needed(reading, path);
	if (!err)
		look_at_all(reading, true);
	return err ?: reading->err;
}

/* --- all ----------------------------------------------------------------- */

/* Returns the narrowest bucket width with at most wish->buckets buckets. */
static unsigned int shift_for(const struct curves_wish *wish)
{
	uint64_t last_ns = wish->range.to_ns - 1;
	unsigned int shift = 0;

	while (shift < 63 &&
	       (last_ns >> shift) - (wish->range.from_ns >> shift) >=
		       wish->buckets)
		shift++;
	return shift;
}

static void free_curve_list(struct reading *reading)
{
	struct curve *list = reading->list.items;

	for (uint32_t i = 0; i < reading->list.count; i++)
		free(list[i].points);
	pool_release(&reading->list);
	pool_init(&reading->list, NULL, sizeof(struct curve),
		  2 * sizeof(uint64_t));
}

static int give_list(struct reading *reading)
{
	struct curves *curves = reading->curves;
	struct curve *list = reading->list.items;

	curves->list = calloc(reading->list.count + 1ULL, sizeof(*list));
	if (!curves->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < reading->list.count; i++) {
		if (!list[i].count && !list[i].has_before)
			continue;
		list[i].track =
			trace_reader_find_track(curves->reader, list[i].uuid);
		curves->list[curves->count++] = list[i];
		list[i].points = NULL;
	}
	return 0;
}

static int read_curves(struct reading *reading, const char *path,
		       const struct read_progress *progress)
{
	int err = -EBADMSG;

	if (reading->curves->index &&
	    index_curves_are_whole(reading->curves->index)) {
		err = read_by_index(reading, path);
		reading->curves->by_curves = !err;
	}
	/* Reading must work without the index: it only saves time. */
	if (err == -EBADMSG) {
		reading->err = 0;
		free_curve_list(reading);
		reading->early_count = 0;
		trace_reader_close(&reading->curves->reader);
		err = read_range(reading, path, progress);
	}
	return err ?: give_list(reading);
}

int curves_read(const char *path, const struct curves_wish *wish,
		const struct read_progress *progress, struct curves **out)
{
	struct reading reading = { .wish = wish };
	int err;

	reading.curves = calloc(1, sizeof(*reading.curves));
	if (!reading.curves)
		return -ENOMEM;
	free_curve_list(&reading);
	reading.curves->shift = shift_for(wish);
	if (!wish->index)
		trace_index_read_beside(path, &reading.curves->own_index);
	reading.curves->index = wish->index ?: reading.curves->own_index;
	err = read_curves(&reading, path, progress);
	free_curve_list(&reading);
	index_curve_set_release(&reading.set);
	free(reading.needs.ranges);
	free(reading.needs.sequences);
	free(reading.early);
	if (err)
		curves_free(&reading.curves);
	else
		*out = reading.curves;
	return err;
}

void curves_free(struct curves **curves)
{
	struct curves *freed = *curves;

	if (!freed)
		return;
	for (uint32_t i = 0; i < freed->count; i++)
		free(freed->list[i].points);
	free(freed->list);
	trace_reader_close(&freed->reader);
	trace_index_free(&freed->own_index);
	free(freed->ranges);
	free(freed);
	*curves = NULL;
}
