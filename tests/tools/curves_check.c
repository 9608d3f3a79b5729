/* SPDX-License-Identifier: Apache-2.0
 *
 * curves_check - compares the curves of counters that a reader returns, for
 * random ranges and numbers of buckets, with all values of the trace, read one
 * by one.
 *
 * usage: curves_check [-i] TRACE COUNT SEED
 *
 * -i: the reader must use the curves of the index. Prints how many counters and
 * values there are. Exit status 1: a curve differs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/read/calls.h"
#include "collector/read/curves.h"
#include "collector/read/trace_index.h"
#include "shared/compiler.h"

struct value {
	uint64_t uuid, ns, order;
	bool real;
	union curve_value value;
};

static struct value *g_values;
static size_t g_count, g_room;

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_values(const void *a, const void *b)
{
	const struct value *one = a, *other = b;

	return compare(one->uuid, other->uuid)
		       ?: compare(one->real, other->real)
			       ?: compare(one->ns, other->ns)
				       ?: compare(one->order, other->order);
}

static void read_values(const char *path)
{
	struct trace_reader *reader;
	struct trace_event event;

	if (trace_reader_open(path, &reader))
		exit(2);
	while (trace_reader_next(reader, &event) > 0) {
		if (event.kind != TRACE_COUNTER)
			continue;
		if (grow_array(g_values, g_room, g_count + 1))
			exit(2);
		g_values[g_count] = (struct value){ event.track->uuid,
						    event.ns,
						    g_count,
						    event.is_double,
						    { event.value } };
		if (event.is_double)
			g_values[g_count].value.real = event.real;
		g_count++;
	}
	trace_reader_close(&reader);
	if (g_count)
		qsort(g_values, g_count, sizeof(*g_values), compare_values);
}

static void fail(const struct curves_wish *wish, const struct value *at,
		 const char *what)
{
	fprintf(stderr,
		"%s: track %" PRIx64 " at %" PRIu64 ", from %" PRIu64
		" to %" PRIu64 ", %u buckets\n",
		what, at->uuid, at->ns, wish->range.from_ns, wish->range.to_ns,
		wish->buckets);
	exit(1);
}

/* NaN is like NaN, and -0.0 is not like 0.0. */
static bool is_same(bool real, union curve_value a, union curve_value b)
{
	if (real && isnan(a.real))
		return isnan(b.real);
	return a.whole == b.whole;
}

static bool is_less(bool real, union curve_value a, union curve_value b)
{
	if (!real)
		return a.whole < b.whole;
	return a.real < b.real ||
	       (a.real == b.real && signbit(a.real) && !signbit(b.real));
}

/* If several values have the same time, any of them may be the last. */
static bool is_last(const struct value *from, const struct value *to,
		    uint64_t ns, union curve_value last)
{
	while (to-- > from && to->ns == ns)
		if (is_same(to->real, to->value, last))
			return true;
	return false;
}

static void check_point(const struct curves_wish *wish,
			const struct value *from, const struct value *to,
			const struct curve_point *point)
{
	union curve_value min = from->value, max = from->value;
	bool real = from->real;

	for (const struct value *at = from; at < to; at++) {
		if (real && isnan(at->value.real))
			continue;
		if ((real && isnan(min.real)) || is_less(real, at->value, min))
			min = at->value;
		if ((real && isnan(max.real)) || is_less(real, max, at->value))
			max = at->value;
	}
	if (!is_same(real, min, point->min))
		fail(wish, from, "another least value");
	if (!is_same(real, max, point->max))
		fail(wish, from, "another greatest value");
	if (to[-1].ns != point->last_ns ||
	    !is_last(from, to, point->last_ns, point->last))
		fail(wish, from, "another last value");
}

static void check_curve(const struct curves_wish *wish, unsigned int shift,
			const struct value *from, const struct value *to,
			const struct curve *curve)
{
	const struct value *at = from;
	uint32_t number = 0;

	while (at < to && at->ns < wish->range.from_ns)
		at++;
	if (curve->has_before != (at > from))
		fail(wish, from, "a value before, or none");
	if (at > from && (curve->before_ns != at[-1].ns ||
			  !is_last(from, at, at[-1].ns, curve->before)))
		fail(wish, from, "another value before");
	while (at < to && at->ns < wish->range.to_ns) {
		const struct value *end = at;

		while (end < to && end->ns < wish->range.to_ns &&
		       end->ns >> shift == at->ns >> shift)
			end++;
		if (number == curve->count ||
		    curve->points[number].begin_ns != at->ns >> shift << shift)
			fail(wish, at, "another bucket");
		check_point(wish, at, end, &curve->points[number++]);
		at = end;
	}
	if (number != curve->count)
		fail(wish, from, "more buckets");
}

static const struct curve *find(const struct curves *curves,
				const struct value *value)
{
	for (uint32_t i = 0; i < curves->count; i++)
		if (curves->list[i].uuid == value->uuid &&
		    curves->list[i].is_double == value->real)
			return &curves->list[i];
	return NULL;
}

static uint32_t check_all(const struct curves_wish *wish,
			  const struct curves *curves)
{
	const struct value *from = g_values, *all = g_values + g_count, *to;
	uint32_t met = 0, counters = 0;

	for (; from < all; from = to) {
		const struct curve *curve = find(curves, from);

		for (to = from; to < all && to->uuid == from->uuid &&
				to->real == from->real;
		     to++)
			;
		counters++;
		if (!curve && from->ns < wish->range.to_ns)
			fail(wish, from, "no curve");
		if (!curve)
			continue;
		met++;
		check_curve(wish, curves->shift, from, to, curve);
		if (!curve->track)
			fail(wish, from, "no track");
	}
	if (met != curves->count)
		fail(wish, g_values, "more curves");
	return counters;
}

static uint64_t any_ns(uint64_t first_ns, uint64_t last_ns)
{
	if (random() % 2)
		return g_values[(size_t)random() % g_count].ns +
		       (uint64_t)random() % 3 - 1;
	return first_ns - 5 +
	       (uint64_t)random() * 64 % (last_ns - first_ns + 10);
}

static struct curves_wish any_wish(uint64_t first_ns, uint64_t last_ns)
{
	uint64_t a = any_ns(first_ns, last_ns), b = any_ns(first_ns, last_ns);
	struct curves_wish wish = { .buckets = 1U << random() % 12 };

	wish.range.from_ns = MIN(a, b);
	wish.range.to_ns = MAX(a, b) + 1;
	return wish;
}

static const struct calls_curve *calls_curve_of(const struct calls *calls,
						uint64_t uuid)
{
	for (uint32_t i = 0; i < calls->curve_count; i++)
		if (calls->curves[i]->track->uuid == uuid)
			return calls->curves[i];
	return NULL;
}

/* Checks the counters of a page, which come from the index. Without the index,
 * a counter that several threads set has fewer values: late ones are skipped.
 */
static void check_calls(const char *path, bool by_curves)
{
	struct calls_choice choice = { .range = TIME_RANGE_ALL };
	struct trace_index *index = NULL;
	struct calls *all, *some;
	bool same = true;

	if (trace_index_read_beside(path, &index))
		return;
	if (calls_read(path, &choice, NULL, &all))
		exit(2);
	choice.index = index;
	if (calls_read(path, &choice, NULL, &some))
		exit(2);
	same = !by_curves || !some->no_counters;
	/* The largest process, also of more than a page has curves for. */
	if (some->curve && all->curve)
		same &= some->curve->track->uuid == all->curve->track->uuid;
	for (uint32_t i = 0; i < some->curve_count; i++) {
		const struct calls_curve *curve = some->curves[i];
		const struct calls_curve *other =
			calls_curve_of(all, curve->track->uuid);

		same &= !other || (curve->last.value == other->last.value &&
				   curve->peak.value >= other->peak.value);
	}
	if (!same) {
		fprintf(stderr, "the page has other counters by the index\n");
		exit(1);
	}
	calls_free(&all);
	calls_free(&some);
	trace_index_free(&index);
}

int main(int argc, char **argv)
{
	bool by_curves = argc == 5 && !strcmp(argv[1], "-i");
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	const char *path = argv[argc - 3];
	uint32_t counters = 0;

	if (argc != 4 + by_curves)
		return 2;
	srandom((unsigned int)atoi(argv[argc - 1]));
	read_values(path);
	for (size_t i = 0; i < g_count; i++) {
		first_ns = MIN(first_ns, g_values[i].ns);
		last_ns = MAX(last_ns, g_values[i].ns);
	}
	for (int i = 0; g_count && i <= atoi(argv[argc - 2]); i++) {
		struct curves_wish wish = any_wish(first_ns, last_ns);
		struct curves *curves;

		if (!i)
			wish.range = (struct time_range){ 0, last_ns + 1 };
		if (curves_read(path, &wish, NULL, &curves))
			return 2;
		if (by_curves && !curves->by_curves)
			fail(&wish, g_values, "without the curves");
		counters = check_all(&wish, curves);
		curves_free(&curves);
	}
	check_calls(path, by_curves && g_count);
	printf("%u counters, %zu values\n", counters, g_count);
	free(g_values);
	return 0;
}
