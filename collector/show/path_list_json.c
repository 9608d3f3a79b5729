/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/path_list_json.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/base/text_out.h"
#include "shared/compiler.h"

#define REPORT_PATH_VERSION 1

const char *path_list_text(const struct path_list *list, uint32_t number)
{
	return trace_texts_get(&list->path->texts, number);
}

const char *path_thread_text(const struct path_list *list, uint32_t tid,
			     uint32_t name, char text[PATH_THREAD_TEXT])
{
	snprintf(text, PATH_THREAD_TEXT, "%u %.40s", tid,
		 path_list_text(list, name));
	return text;
}

void path_stop_print(const struct path_list *list, const struct path_stop *stop,
		     FILE *out)
{
	char thread[PATH_THREAD_TEXT];

	path_thread_text(list, stop->tid, stop->thread, thread);
	switch ((enum path_stop_why)stop->why) {
	case PATH_STOP_WAKER:
	case PATH_STOP_SILENT:
		fputs(stop->why == PATH_STOP_WAKER
			      ? "no record says who ended the wait of thread "
			      : "no call was recorded of the thread that ended "
				"the wait of thread ",
		      out);
		text_out(thread, out);
		fputs(" for ", out);
		text_out(path_list_text(list, stop->object), out);
		break;
	case PATH_STOP_START:
		fputs("no record says who started thread ", out);
		text_out(thread, out);
		break;
	case PATH_STOP_WAITED:
		fputs("by the trace, thread ", out);
		text_out(thread, out);
		fputs(" waited when it ended another wait", out);
		break;
	}
}

char *path_stop_text(const struct path_list *list, const struct path_stop *stop)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	path_stop_print(list, stop, out);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

uint64_t path_row_ns(const struct path_row *row)
{
	return row->ran_ns + row->hand_over_ns + row->outside_ns +
	       row->unknown_ns;
}

/* --- order ---------------------------------------------------------------- */

struct path_order {
	const struct path_list *list;
	const char *key;
};

static int compare_path_rows(const void *left, const void *right, void *context)
{
	const struct path_order *order = context;
	const struct path_row *a = left, *b = right;
	bool by_name = !strcmp(order->key, "name");
	bool by_cpu = !strcmp(order->key, "on-cpu");
	uint64_t first = by_cpu ? a->on_cpu_ns : path_row_ns(a);
	uint64_t second = by_cpu ? b->on_cpu_ns : path_row_ns(b);
	int names = strcmp(path_list_text(order->list, a->function),
			   path_list_text(order->list, b->function));

	if (!by_name && first != second)
		return first > second ? -1 : 1;
	return names ?: (a->tid > b->tid) - (a->tid < b->tid);
}

static int compare_hand_overs(const void *left, const void *right)
{
	const struct path_hand_over *a = left, *b = right;

	if (a->times != b->times)
		return a->times > b->times ? -1 : 1;
	return (a->ns < b->ns) - (a->ns > b->ns);
}

static int compare_path_stops(const void *left, const void *right)
{
	const struct path_stop *a = left, *b = right;

	return (a->ns < b->ns) - (a->ns > b->ns);
}

static void sort_path_pool(struct pool *pool,
			   int (*compare)(const void *left, const void *right))
{
	if (pool->count)
		qsort(pool->items, pool->count, pool->item_bytes, compare);
}

void path_list_sort(struct path_list *list, const char *key)
{
	struct path_order order = { list, key };

	sort_path_pool(&list->path->hand_overs, compare_hand_overs);
	sort_path_pool(&list->path->stops, compare_path_stops);
	if (list->path->rows.count)
		qsort_r(list->path->rows.items, list->path->rows.count,
			sizeof(struct path_row), compare_path_rows, &order);
}

/* --- JSON ----------------------------------------------------------------- */

static json_t *hand_overs_json(const struct path_list *list, size_t limit)
{
	const struct path_hand_over *at = list->path->hand_overs.items;
	json_t *array = json_array();

	for (uint32_t i = 0; i < MIN(limit, list->path->hand_overs.count);
	     i++, at++)
		json_array_append_new(
			array,
			json_pack("{s:o, s:o, s:o, s:I, s:o, s:I, s:I, s:I}",
				  "object",
				  json_text(path_list_text(list, at->object)),
				  "function",
				  json_text(path_list_text(list, at->function)),
				  "from",
				  json_text(path_list_text(list, at->from)),
				  "from_tid", (json_int_t)at->from_tid, "to",
				  json_text(path_list_text(list, at->to)),
				  "to_tid", (json_int_t)at->to_tid, "times",
				  (json_int_t)at->times, "hand_over_ns",
				  (json_int_t)at->ns));
	return array;
}

static json_t *stops_json(const struct path_list *list)
{
	static const char *const why[] = { [PATH_STOP_WAKER] = "waker",
					   [PATH_STOP_SILENT] = "silent",
					   [PATH_STOP_START] = "start",
					   [PATH_STOP_WAITED] = "waited" };
	const struct path_stop *at = list->path->stops.items;
	json_t *array = json_array();

	for (uint32_t i = 0; i < list->path->stops.count; i++, at++) {
		char *text = path_stop_text(list, at);

		json_array_append_new(
			array,
			json_pack("{s:s, s:o, s:o, s:o, s:I, s:I, s:I}", "why",
				  why[at->why], "text",
				  text ? json_text(text) : NULL, "object",
				  json_text(path_list_text(list, at->object)),
				  "thread",
				  json_text(path_list_text(list, at->thread)),
				  "tid", (json_int_t)at->tid, "times",
				  (json_int_t)at->times, "unknown_ns",
				  (json_int_t)at->ns));
		free(text);
	}
	return array;
}

json_t *path_list_json(const struct path_list *list, size_t rows,
		       size_t hand_overs)
{
	const struct critical_path *path = list->path;
	const struct path_row *row = path->rows.items;
	json_t *array = json_array();

	for (size_t left = MIN(rows ?: SIZE_MAX, path->rows.count); left;
	     left--, row++)
		json_array_append_new(
			array,
			json_pack(
				"{s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:I, "
				"s:I, s:I}",
				"function",
				json_text(path_list_text(list, row->function)),
				"thread",
				json_text(path_list_text(list, row->thread)),
				"tid", (json_int_t)row->tid, "time_ns",
				(json_int_t)path_row_ns(row), "ran_ns",
				(json_int_t)row->ran_ns, "on_cpu_ns",
				path->has_switches ? json_number(row->on_cpu_ns)
						   : json_null(),
				"runnable_ns",
				path->has_switches
					? json_number(row->runnable_ns)
					: json_null(),
				"hand_over_ns", (json_int_t)row->hand_over_ns,
				"outside_ns", (json_int_t)row->outside_ns,
				"unknown_ns", (json_int_t)row->unknown_ns));
	return json_pack(
		"{s:i, s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:o}", "version",
		REPORT_PATH_VERSION, "view", "path", "function",
		list->function ? json_text(list->function) : json_null(),
		"paths", (json_int_t)path->chains, "left_out",
		(json_int_t)list->unseen, "length_ns",
		(json_int_t)path->length_ns, "functions", array, "hand_overs",
		hand_overs_json(list, hand_overs ?: SIZE_MAX), "stops",
		stops_json(list));
}
