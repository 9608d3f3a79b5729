/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/calls_inner.h"

#include "collector/read/curves.h"
#include "collector/read/index_curve_set.h"
#include "shared/compiler.h"

/* One point is reserved for the value before the range. */
#define BUCKETS (CALLS_CURVE_POINTS - 1)

/* Returns true if the page can show the curve. */
static bool is_plain(const struct curve *from)
{
	if (from->is_double || (from->has_before && from->before.whole < 0))
		return false;
	for (uint32_t i = 0; i < from->count; i++)
		if (from->points[i].min.whole < 0)
			return false;
	return true;
}

static uint64_t peak_of(const struct curve *from)
{
	uint64_t peak = from->has_before ? (uint64_t)from->before.whole : 0;

	for (uint32_t i = 0; i < from->count; i++)
		peak = MAX(peak, (uint64_t)from->points[i].max.whole);
	return peak;
}

static void put_point(struct calls_curve *curve, uint64_t ns, uint64_t value,
		      uint64_t after)
{
	const struct calls_point point = { ns, value, after };

	curve->points[curve->count++] = point;
	if (curve->count == 1 || value > curve->peak.value)
		curve->peak = point;
	curve->last = (struct calls_point){ ns, after, after };
}

static void copy_points(struct calls_curve *curve, const struct curve *from,
			const struct time_range *range, unsigned int shift)
{
	curve->shift = shift;
	if (from->has_before)
		put_point(curve, range->from_ns, (uint64_t)from->before.whole,
			  (uint64_t)from->before.whole);
	for (uint32_t i = 0; i < MIN(from->count, BUCKETS); i++) {
		const struct curve_point *point = &from->points[i];

		put_point(curve, MAX(point->begin_ns, range->from_ns),
			  (uint64_t)point->max.whole,
			  (uint64_t)point->last.whole);
		curve->last.ns = point->last_ns;
	}
}

static void add_curve(struct calls *calls, const struct curve *from,
		      const struct time_range *range, unsigned int shift)
{
	const struct trace_track *track =
		trace_reader_find_track(calls->tree.reader, from->uuid);
	struct calls_curve *curve = NULL;
	bool counter =
		track && track->kind == TRACE_TRACK_COUNTER && is_plain(from);

	if (counter && calls_find_band(calls, track, &curve)) {
		if (curve)
			copy_points(curve, from, range, shift);
		return;
	}
	if (counter)
		curve = calls_curve_place(calls, track, peak_of(from));
	if (curve)
		copy_points(curve, from, range, shift);
	else
		calls->curves_refused++;
}

int calls_counters_add(struct calls *calls, const char *path,
		       const struct calls_choice *choice)
{
	struct curves_wish wish = {
		.range = { MAX(choice->range.from_ns,
			       calls->tree.totals.first_ns),
			   MIN(choice->range.to_ns,
			       calls->tree.totals.last_ns + 1) },
		.buckets = BUCKETS,
		.rough = true,
		.index = choice->index,
	};
	struct curves *curves;
	int err;

	calls->no_counters = choice->thread ||
			     !index_curves_are_whole(choice->index) ||
			     wish.range.from_ns >= wish.range.to_ns;
	if (calls->no_counters)
		return 0;
	err = curves_read(path, &wish, NULL, &curves);
	if (err)
		return err;
	for (uint32_t i = 0; i < curves->count; i++)
		add_curve(calls, &curves->list[i], &wish.range, curves->shift);
	curves_free(&curves);
	return 0;
}
