/* SPDX-License-Identifier: Apache-2.0
 *
 * docs/JSON.md has the schema. Members are only added, never changed.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/compare/runs_json.h"
#include "collector/compare/together.h"
#include "collector/names/name_fold.h"
#include "shared/compiler.h"

#define TOGETHER_JSON_VERSION 1

static json_t *recordings_json(const struct runs *runs)
{
	json_t *list = json_array();

	for (size_t i = 0; i < runs->count; i++) {
		const struct summary *one = runs->list[i].summary;
		bool ranked = one->first_rank == one->last_rank;

		json_array_append_new(
			list,
			json_pack("{s:o, s:I, s:I, s:I, s:b}", "directory",
				  json_text(runs->list[i].dir), "rank",
				  ranked ? (json_int_t)one->first_rank : -1,
				  "wall_ns", (json_int_t)one->wall_ns, "spans",
				  (json_int_t)one->totals.spans, "complete",
				  runs->list[i].complete));
	}
	return list;
}

/* Values are exact up to 2^53. Those of a hostile file may exceed an integer. */
static json_t *whole_json(double value)
{
	return json_integer((json_int_t)MAX(MIN(value, 9e18), -9e18));
}

static json_t *value_json(const struct runs *runs, size_t row, size_t metric,
			  const struct together *one)
{
	json_t *list = json_array();

	for (size_t i = 0; i < runs->count; i++)
		json_array_append_new(
			list, json_integer(runs_value(runs, row, metric, i)));
	/* Recordings have their peaks at different moments. */
	return json_pack("{s:o, s:o, s:f, s:o, s:f, s:o}", "sum",
			 (strncmp(runs->metric[metric].key, "peak_",
				  strlen("peak_")) != 0)
				 ? whole_json(one->sum)
				 : json_null(),
			 "min", whole_json(one->min), "median", one->median,
			 "max", whole_json(one->max), "imbalance",
			 one->imbalance, "by_recording", list);
}

static json_t *sum_row_json(const struct runs *runs, size_t row, double error,
			    double *scratch)
{
	const struct runs_function *function = runs_frame(runs, row, 0);
	json_t *values = json_object();
	char folded[NAME_FOLD_BYTES];

	name_fold(function->name, folded);
	for (size_t m = 0; m < runs->metric_count; m++) {
		const struct together one = together_row(runs, row, m, scratch);

		if (one.sum != 0)
			json_object_set_new(values, runs->metric[m].key,
					    value_json(runs, row, m, &one));
	}
	return json_pack("{s:o, s:o, s:o, s:I, s:o}", "name",
			 json_text(function->name), "short", json_text(folded),
			 "module", json_text(function->module), "self_error_ns",
			 (json_int_t)error, "values", values);
}

static json_t *sum_rows_json(const struct runs *runs, const size_t *rows,
			     size_t count)
{
	double *scratch = calloc(runs->count + 1, sizeof(*scratch));
	struct together_error *errors = together_errors(runs);
	json_t *list = scratch && errors ? json_array() : NULL;

	for (size_t i = 0; list && i < count; i++)
		json_array_append_new(list, sum_row_json(runs, rows[i],
							 errors[rows[i]].ns,
							 scratch));
	free(scratch);
	free(errors);
	return list;
}

int together_write_json(const struct runs *runs,
			const struct together_options *options, FILE *out)
{
	size_t count;
	size_t *rows = together_rows(runs, options, &count);
	json_t *root;

	if (!rows)
		return -EINVAL;
	if (options->limit)
		count = MIN(count, options->limit);
	root = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o}", "version",
			 TOGETHER_JSON_VERSION, "view", "recordings",
			 "recordings", recordings_json(runs), "notes",
			 runs_notes_json(runs), "metrics",
			 runs_metrics_json(runs), "functions",
			 sum_rows_json(runs, rows, count));
	free(rows);
	return json_text_print(root, out);
}
