/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec-aggregate(1) has the schema. Members are only added, never changed.
 */
#include <jansson.h>
#include <stdlib.h>

#include "collector/base/json_text.h"
#include "collector/compare/aggregate.h"
#include "collector/compare/runs_json.h"
#include "collector/names/name_fold.h"
#include "shared/compiler.h"

#define AGGREGATE_JSON_VERSION 1

static json_t *aggregate_row_json(const struct runs *runs, size_t row,
				  double *scratch)
{
	const struct runs_function *function = runs_frame(runs, row, 0);
	json_t *values = json_object();
	char folded[NAME_FOLD_BYTES];

	name_fold(function->name, folded);
	for (size_t m = 0; m < runs->metric_count; m++) {
		const struct aggregate one =
			aggregate_row(runs, row, m, scratch);

		if (one.max != 0 || one.min != 0)
			json_object_set_new(
				values, runs->metric[m].key,
				json_pack("{s:f, s:f, s:f, s:f, s:f}", "min",
					  one.min, "median", one.median, "max",
					  one.max, "stddev", one.deviation,
					  "mad", one.mad));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:i, s:o}", "name",
			 json_text(function->name), "short", json_text(folded),
			 "module", json_text(function->module), "file",
			 json_text(function->file), "line", (int)function->line,
			 "values", values);
}

static json_t *dirs_json(const struct runs *runs)
{
	json_t *list = json_array();

	for (size_t i = 0; i < runs->count; i++)
		json_array_append_new(list, json_text(runs->list[i].dir));
	return list;
}

static json_t *aggregate_rows_json(const struct runs *runs,
				   const struct aggregate_options *options)
{
	size_t count;
	size_t *rows = aggregate_rows(runs, options->metric, &count);
	double *scratch = calloc(runs->count + 1, sizeof(*scratch));
	json_t *list = json_array();

	if (options->limit)
		count = MIN(count, options->limit);
	for (size_t i = 0; rows && scratch && i < count; i++)
		json_array_append_new(
			list, aggregate_row_json(runs, rows[i], scratch));
	free(rows);
	free(scratch);
	return list;
}

int aggregate_write_json(const struct runs *runs,
			 const struct aggregate_options *options, FILE *out)
{
	json_t *root = json_pack(
		"{s:i, s:o, s:o, s:o, s:s, s:o}", "version",
		AGGREGATE_JSON_VERSION, "runs", dirs_json(runs), "notes",
		runs_notes_json(runs), "metrics", runs_metrics_json(runs),
		"value", runs->metric[options->metric].key, "functions",
		aggregate_rows_json(runs, options));

	return json_text_print(root, out);
}
