/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec-graph(1) has the schema. New members may be added; existing ones
 * never change.
 */
#include <jansson.h>

#include "collector/base/json_text.h"
#include "collector/names/name_fold.h"
#include "collector/show/graph.h"

#define GRAPH_JSON_VERSION 1

static json_t *short_json(const char *name)
{
	char folded[NAME_FOLD_BYTES];

	name_fold(name, folded);
	return json_text(folded);
}

static json_t *edges_json(const struct graph_edge *list, size_t count)
{
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			out, json_pack("{s:o, s:o, s:o, s:I, s:I, s:b}", "name",
				       json_text(list[i].name), "short",
				       short_json(list[i].name), "module",
				       json_text(list[i].module), "calls",
				       (json_int_t)list[i].calls, "total_ns",
				       (json_int_t)list[i].total_ns,
				       "estimated", list[i].estimated));
	return out;
}

int graph_write_json(const struct graph *graph, FILE *out)
{
	json_t *root = json_pack(
		"{s:i, s:o, s:o, s:o, s:o, s:i, s:s, s:I, s:I, s:I, s:b, s:o, "
		"s:o}",
		"version", GRAPH_JSON_VERSION, "name", json_text(graph->name),
		"short", short_json(graph->name), "module",
		json_text(graph->module), "file", json_text(graph->file),
		"line", (int)graph->line, "time_from",
		graph->sampled ? "samples" : "calls", "calls",
		(json_int_t)graph->calls, "self_ns", (json_int_t)graph->self_ns,
		"total_ns", (json_int_t)graph->total_ns, "estimated",
		graph->estimated, "callers",
		edges_json(graph->callers, graph->caller_count), "callees",
		edges_json(graph->callees, graph->callee_count));

	return json_text_print(root, out);
}
