/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/report_json.h"

#include <jansson.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/names/name_fold.h"
#include "collector/show/memory_over_time_json.h"
#include "shared/compiler.h"

static json_t *pprof_values_json(const struct pprof *pprof,
				 const int64_t *value)
{
	json_t *object = json_object();

	for (size_t i = 0; i < pprof->type_count; i++)
		json_object_set_new(object, pprof->type[i].type,
				    json_integer(value[i]));
	return object;
}

static json_t *frame_json(const struct pprof_frame *frame)
{
	char text[NAME_FOLD_BYTES];

	name_fold(frame->name, text);
	return json_pack("{s:o, s:o, s:o, s:o, s:i}", "name",
			 json_text(frame->name), "short", json_text(text),
			 "module", json_text(frame->module), "file",
			 json_text(frame->file), "line", (int)frame->line);
}

static json_t *stack_json(const struct pprof *pprof,
			  const struct pprof_row *row)
{
	json_t *frames = json_array();

	for (size_t i = 0; i < row->depth; i++)
		json_array_append_new(frames, frame_json(&row->frames[i]));
	return json_pack("{s:o, s:o}", "stack", frames, "value",
			 pprof_values_json(pprof, row->self));
}

static json_t *pprof_function_json(const struct pprof *pprof,
				   const struct pprof_row *row)
{
	json_t *object = frame_json(row->frames);

	json_object_set_new(object, "self",
			    pprof_values_json(pprof, row->self));
	json_object_set_new(object, "total",
			    pprof_values_json(pprof, row->total));
	return object;
}

int report_json_write(const struct report_json *report,
		      const struct pprof *pprof, const struct pprof_rows *rows,
		      FILE *out)
{
	size_t count = rows->count;
	json_t *list = json_array(), *types = json_array();
	json_t *comments = json_array(), *root;

	if (report->limit)
		count = MIN(count, report->limit);
	for (size_t i = 0; i < pprof->type_count; i++)
		json_array_append_new(
			types, json_pack("{s:o, s:o}", "type",
					 json_text(pprof->type[i].type), "unit",
					 json_text(pprof->type[i].unit)));
	for (size_t i = 0; i < pprof->comment_count; i++)
		json_array_append_new(comments, json_text(pprof->comments[i]));
	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			list, report->stacks ? stack_json(pprof, &rows->list[i])
					     : pprof_function_json(
						       pprof, &rows->list[i]));
	root = json_pack("{s:i, s:s, s:o, s:I, s:I, s:o, s:o, s:o}", "version",
			 REPORT_JSON_VERSION, "view", report->view, "types",
			 types, "period", (json_int_t)pprof->period,
			 "duration_ns", (json_int_t)pprof->duration_ns,
			 "comments", comments, "sum",
			 pprof_values_json(pprof, rows->sum),
			 report->stacks ? "stacks" : "functions", list);
	if (report->dir)
		json_object_set_new(root, "over_time",
				    memory_over_time_json(report->dir));
	return json_text_print(root, out);
}
