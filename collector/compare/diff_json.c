/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec-diff(1) has the schema. Members are only added, never changed.
 */
#include <jansson.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/compare/diff.h"
#include "collector/compare/runs_json.h"
#include "collector/names/name_fold.h"

#define DIFF_JSON_VERSION 1

static json_t *run_json(const struct run *run)
{
	json_t *command = json_array();

	for (size_t i = 0; run->summary->command[i]; i++)
		json_array_append_new(command,
				      json_text(run->summary->command[i]));
	return json_pack("{s:o, s:o, s:I, s:b, s:b}", "dir",
			 json_text(run->dir), "command", command, "wall_ns",
			 (json_int_t)run->summary->wall_ns, "single_threaded",
			 run->single_threaded, "complete", run->complete);
}

static json_t *side_json(const struct runs *runs, size_t from, size_t to)
{
	json_t *list = json_array();

	for (size_t i = from; i < to; i++)
		json_array_append_new(list, run_json(&runs->list[i]));
	return list;
}

static json_t *metrics_json(const struct diff *diff)
{
	static const char *const hows[] = { [JUDGE_NOT] = "not",
					    [JUDGE_EXACT] = "exact",
					    [JUDGE_SPREAD] = "spread" };
	json_t *list = json_array();

	for (size_t i = 0; i < diff->runs->metric_count; i++) {
		const struct runs_metric *metric = &diff->runs->metric[i];
		const struct judge_metric *how = &diff->judged.metric[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:s, s:b, s:I, s:f}", "key",
				  metric->key, "unit", metric->unit, "judged",
				  hows[how->how], "sampled", metric->sampled,
				  "rows", (json_int_t)how->judged, "least",
				  how->least));
	}
	return list;
}

static json_t *function_json(const struct runs *runs,
			     const struct runs_function *function)
{
	static const char *const matches[] = { [RUNS_SAME] = "same",
					       [RUNS_RENAMED] = "renamed",
					       [RUNS_MOVED] = "moved" };
	char folded[NAME_FOLD_BYTES];
	json_t *out;

	name_fold(function->name, folded);
	out = json_pack("{s:o, s:o, s:o, s:o, s:i}", "name",
			json_text(function->name), "short", json_text(folded),
			"module", json_text(function->module), "file",
			json_text(function->file), "line", (int)function->line);
	if (function->other != RUNS_NONE) {
		const struct runs_function *other =
			runs_function(runs, function->other);

		json_object_set_new(out, "match",
				    json_string(matches[function->match]));
		json_object_set_new(out, "name_b", json_text(other->name));
		json_object_set_new(out, "module_b", json_text(other->module));
	}
	return out;
}

static json_t *diff_values_json(const struct diff *diff, size_t row)
{
	json_t *values = json_object();

	for (size_t m = 0; m < diff->runs->metric_count; m++) {
		const struct judge_cell *cell =
			judged_cell(&diff->judged, row, m);

		if (cell->a_max != 0 || cell->b_max != 0 || cell->a_min != 0 ||
		    cell->b_min != 0)
			json_object_set_new(
				values, diff->runs->metric[m].key,
				json_pack("{s:[f,f,f], s:[f,f,f], s:b, s:b}",
					  "a", cell->a_min, cell->a,
					  cell->a_max, "b", cell->b_min,
					  cell->b, cell->b_max, "changed",
					  cell->changed, "may_have_changed",
					  cell->may_have_changed));
	}
	return values;
}

static const char *sides(const struct runs *runs, size_t row)
{
	if (!runs_present(runs, row, false))
		return "b";
	return runs_present(runs, row, true) ? "ab" : "a";
}

static json_t *diff_row_json(const struct diff *diff, size_t row)
{
	const struct runs *runs = diff->runs;
	json_t *out, *frames;

	if (!runs->stacks) {
		out = function_json(runs, runs_frame(runs, row, 0));
	} else {
		frames = json_array();
		for (size_t i = 0; i < runs_row(runs, row)->depth; i++)
			json_array_append_new(
				frames,
				function_json(runs, runs_frame(runs, row, i)));
		out = json_pack("{s:o}", "stack", frames);
	}
	json_object_set_new(out, "sides", json_string(sides(runs, row)));
	json_object_set_new(out, "values", diff_values_json(diff, row));
	return out;
}

static json_t *rows_json(const struct diff *diff)
{
	json_t *list = json_array();

	for (size_t row = 0; row < runs_row_count(diff->runs); row++)
		json_array_append_new(list, diff_row_json(diff, row));
	return list;
}

static json_t *failed_json(const struct diff *diff)
{
	json_t *list = json_array();

	for (size_t i = 0; i < diff->condition_count; i++)
		for (size_t row = 0; row < runs_row_count(diff->runs); row++)
			if (diff_holds(diff, i, row))
				json_array_append_new(
					list,
					json_pack(
						"{s:o, s:o}", "condition",
						json_text(diff->conditions[i]
								  .text),
						"name",
						json_text(runs_frame(diff->runs,
								     row, 0)
								  ->name)));
	return list;
}

int diff_write_json(const struct diff *diff, FILE *out)
{
	const struct runs *runs = diff->runs;
	json_t *root = json_pack(
		"{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "version",
		DIFF_JSON_VERSION, "a", side_json(runs, 0, runs->first_b), "b",
		side_json(runs, runs->first_b, runs->count), "notes",
		runs_notes_json(runs), "metrics", metrics_json(diff),
		runs->stacks ? "stacks" : "functions", rows_json(diff),
		"failed", failed_json(diff));

	return json_text_print(root, out);
}
