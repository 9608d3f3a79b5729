/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/memory_over_time_json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/output/own_files.h"
#include "collector/read/calls.h"
#include "collector/read/curves.h"
#include "collector/read/trace_bounds.h"
#include "collector/read/trace_origin.h"
#include "collector/show/range_counters.h"

/* The page has as many buckets. */
#define POINTS_MAX 500

static void add_memory_point(json_t *points, uint64_t ns, int64_t bytes)
{
	json_array_append_new(points,
			      json_pack("{s:o, s:I}", "ns", json_number(ns),
					"bytes", (json_int_t)bytes));
}

static json_t *memory_row_json(const struct counter_row *row, uint64_t from_ns)
{
	const struct curve *curve = row->curve;
	json_t *points = json_array();

	if (curve->has_before)
		add_memory_point(points, 0, curve->before.whole);
	for (uint32_t i = 0; i < curve->count; i++)
		add_memory_point(points, curve->points[i].last_ns - from_ns,
				 curve->points[i].last.whole);
	return json_pack("{s:o, s:I, s:o}", "name",
			 json_text(row->name + strlen(CALLS_BAND_NAME)), "pid",
			 (json_int_t)(row->process ? row->process->pid : 0),
			 "points", points);
}

/* Finds the time of the recording, from its first call on, or without calls
 * from the start of the trace. Returns 0 or -errno. */
static int find_memory_time(const char *path, struct time_range *out)
{
	struct trace_bounds bounds;
	struct trace_origin origin = { 0 };
	int err = trace_bounds_read(path, NULL, NULL, &bounds);

	if (!err && !bounds.first_ns)
		err = trace_origin_read(path, &origin);
	if (!err)
		*out = (struct time_range){ bounds.first_ns
						    ? bounds.first_ns
						    : origin.boottime_ns,
					    bounds.last_ns + 1 };
	return err;
}

json_t *memory_over_time_json(const char *dir)
{
	struct curves_wish wish = { .buckets = POINTS_MAX };
	struct range_counters counters = { 0 };
	struct curves *curves = NULL;
	struct counter_row *rows = NULL;
	json_t *list = NULL;
	char *path;
	size_t count;

	if (asprintf(&path, "%s/" TRACE_NAME, dir) < 0)
		return json_null();
	if (!find_memory_time(path, &wish.range) &&
	    !curves_read(path, &wish, NULL, &curves) && !curves->err) {
		counters.curves = curves;
		rows = range_counters_rows(&counters, &count);
	}
	if (rows)
		list = json_array();
	for (size_t i = 0; list && i < count; i++)
		if (!strncmp(rows[i].name, CALLS_BAND_NAME,
			     strlen(CALLS_BAND_NAME)) &&
		    !rows[i].curve->is_double)
			json_array_append_new(
				list,
				memory_row_json(&rows[i], wish.range.from_ns));
	free(rows);
	curves_free(&curves);
	free(path);
	return list ? list : json_null();
}
