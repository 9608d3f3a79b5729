/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/show/pprof_rows.h"
#include "collector/show/short_name.h"
#include "collector/show/table.h"
#include "shared/compiler.h"
#include "shared/hash.h"

/* --- edges --------------------------------------------------------------- */

static uint64_t hash_edge(const void *item)
{
	const struct graph_edge *edge = item;

	return hash_fold(hash_text(hash_text(1, edge->name), edge->module));
}

static bool same_edge(const void *left, const void *right)
{
	const struct graph_edge *a = left, *b = right;

	return strcmp(a->name, b->name) == 0 &&
	       strcmp(a->module, b->module) == 0;
}

static const struct pool_key edge_key = { hash_edge, same_edge };

static int add_edge(struct pool *pool, const struct pprof_frame *frame,
		    int64_t calls, int64_t ns)
{
	struct graph_edge key = { .name = frame ? frame->name : "",
				  .module = frame ? frame->module : "" };
	struct graph_edge *edge;
	uint32_t number;
	int err = pool_intern(pool, &key, &number);

	if (err < 0)
		return err;
	edge = (struct graph_edge *)pool->items + number;
	add_saturated_to(&edge->calls, calls);
	add_saturated_to(&edge->total_ns, ns);
	return 0;
}

struct graph_values {
	uint32_t calls, wall; /* indexes of the values */
};

static bool is_function(const struct graph *graph,
			const struct pprof_frame *frame)
{
	return strcmp(frame->name, graph->name) == 0;
}

static const struct pprof_frame *frame_of_row(const struct pprof_row *row,
					      size_t i)
{
	return i < row->depth ? &row->frames[i] : NULL;
}

/* Stacks start with the innermost frame. The value "calls" counts calls of the
 * innermost function by the rest of the stack. */
static int add_edge_calls(struct graph *graph, const struct pprof_row *row,
			  int64_t calls)
{
	int err = 0;

	if (!calls)
		return 0;
	if (is_function(graph, &row->frames[0])) {
		add_saturated_to(&graph->calls, calls);
		err = add_edge(&graph->caller_pool, frame_of_row(row, 1), calls,
			       0);
	}
	if (!err && row->depth > 1 && is_function(graph, &row->frames[1]))
		err = add_edge(&graph->callee_pool, &row->frames[0], calls, 0);
	return err;
}

static int add_edge_time(struct graph *graph, const struct pprof_row *row,
			 int64_t ns)
{
	size_t inner = row->depth, outer = 0;
	int err;

	for (size_t i = 0; i < row->depth; i++) {
		if (!is_function(graph, &row->frames[i]))
			continue;
		inner = MIN(inner, i);
		outer = i;
	}
	if (inner == row->depth || !ns)
		return 0;
	add_saturated_to(&graph->total_ns, ns);
	err = add_edge(&graph->caller_pool, frame_of_row(row, outer + 1), 0,
		       ns);
	if (inner == 0)
		add_saturated_to(&graph->self_ns, ns);
	else if (!err)
		err = add_edge(&graph->callee_pool, &row->frames[inner - 1], 0,
			       ns);
	return err;
}

/* --- counted functions --------------------------------------------------- */

/* Returns true if some calls of the function @name were only counted. Then
 * their distribution over callers is an estimate. */
static bool has_counted_calls(const struct summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->function_count; i++) {
		const struct summary_function *one = &summary->functions[i];

		if (strcmp(one->name, name) == 0 && one->calls > one->recorded)
			return true;
	}
	return false;
}

/* --- the graph ----------------------------------------------------------- */

static int compare_edges(const void *left, const void *right)
{
	const struct graph_edge *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void sort_pool(struct pool *pool, struct graph_edge **list,
		      size_t *count)
{
	*list = pool->items;
	*count = pool->count;
	if (*count)
		qsort(*list, *count, sizeof(**list), compare_edges);
}

int graph_make(const struct pprof *pprof, const struct pprof_rows *rows,
	       const struct summary *summary, const char *name,
	       struct graph *out)
{
	const struct graph_values at = { pprof_find_type(pprof, "calls"),
					 pprof_find_type(pprof, "wall") };
	int err = 0;

	*out = (struct graph){ .name = name, .module = "", .file = "" };
	if (at.calls == PPROF_NONE || at.wall == PPROF_NONE)
		return -EBADMSG;
	pool_init_key(&out->caller_pool, NULL, sizeof(struct graph_edge),
		      &edge_key);
	pool_init_key(&out->callee_pool, NULL, sizeof(struct graph_edge),
		      &edge_key);
	for (size_t i = 0; i < rows->count && !err; i++) {
		const struct pprof_row *row = &rows->list[i];

		if (!row->depth)
			continue;
		for (size_t j = 0; j < row->depth; j++) {
			const struct pprof_frame *frame = &row->frames[j];

			if (!is_function(out, frame))
				continue;
			out->module = frame->module;
			if (!out->line || frame->line < out->line) {
				out->file = frame->file;
				out->line = frame->line;
			}
		}
		err = add_edge_calls(out, row, row->self[at.calls]);
		if (!err)
			err = add_edge_time(out, row, row->self[at.wall]);
	}
	sort_pool(&out->caller_pool, &out->callers, &out->caller_count);
	sort_pool(&out->callee_pool, &out->callees, &out->callee_count);
	out->sampled = summary_time_is_sampled(summary);
	if (summary->totals.counted_calls) {
		out->estimated = has_counted_calls(summary, out->name);
		for (size_t i = 0; i < out->caller_count; i++)
			out->callers[i].estimated = out->estimated;
		for (size_t i = 0; i < out->callee_count; i++)
			out->callees[i].estimated = has_counted_calls(
				summary, out->callees[i].name);
	}
	if (err)
		graph_release(out);
	return err;
}

void graph_release(struct graph *graph)
{
	pool_release(&graph->caller_pool);
	pool_release(&graph->callee_pool);
	*graph = (struct graph){ 0 };
}

/* --- text ---------------------------------------------------------------- */

static char *format_time(int64_t ns, char *text)
{
	if (ns >= 0)
		return size_format_ns((uint64_t)ns, text);
	text[0] = '-';
	size_format_ns(-(uint64_t)ns, text + 1);
	return text;
}

static void add_edge_row(struct table *table, const struct graph *graph,
			 const struct graph_edge *edge)
{
	char calls[SIZE_TEXT + 2], total[SIZE_TEXT + 2], share[16] = "";
	double part = graph->total_ns > 0 ? 100 * (double)edge->total_ns /
						    (double)graph->total_ns
					  : 0;
	bool recursion = strcmp(edge->name, graph->name) == 0;

	calls[0] = '~';
	size_format_count((uint64_t)MAX(edge->calls, 0), calls + 1);
	format_time(edge->total_ns, total);
	snprintf(share, sizeof(share), "%.1f", part);
	if (graph->sampled && !edge->calls) /* only in samples */
		strcpy(calls, "~-");
	table_add(table,
		  (const char *[]){ calls + !(edge->estimated && edge->calls),
				    recursion ? "" : total,
				    recursion ? "" : share },
		  edge->name[0] ? edge->name : "(thread)", edge->module);
	if (recursion)
		table_behind(table, "(recursion)");
}

static int print_edges(const struct graph *graph, bool callers, size_t limit,
		       bool full_names, FILE *out)
{
	static const struct table_column columns[] = {
		{ "calls", 13, false, 0 },
		{ "total", 9, false, 0 },
		{ "%", 5, false, 1 },
	};
	const struct graph_edge *list =
		callers ? graph->callers : graph->callees;
	size_t count = callers ? graph->caller_count : graph->callee_count;
	size_t shown = limit ? MIN(limit, count) : count;
	struct terminal terminal = terminal_of(out);
	struct table table;
	int err;

	fputc('\n', out);
	if (!count) {
		fprintf(out, "  no %s\n", callers ? "callers" : "callees");
		return 0;
	}
	table_init(&table, columns, ARRAY_SIZE(columns),
		   callers ? "callers" : "callees");
	table.full_names = full_names;
	for (size_t i = 0; i < shown; i++)
		add_edge_row(&table, graph, &list[i]);
	err = table_print(&table, &terminal, out);
	table_release(&table);
	if (shown < count)
		fprintf(out, "  and %zu more (--limit 0)\n", count - shown);
	return err;
}

int graph_print(const struct graph *graph, size_t limit, bool full_names,
		FILE *out)
{
	bool some;
	char calls[SIZE_TEXT], self[SIZE_TEXT + 1], total[SIZE_TEXT + 1];
	struct short_names names;
	int err = short_names_make(&names, &graph->name, 1, full_names);

	if (!err) {
		text_out(short_names_get(&names, 0), out);
		if (graph->module[0]) { /* a trace has no modules */
			fputs("  ", out);
			text_out_module(graph->module, out);
		}
		if (graph->file[0]) {
			fputs("  ", out);
			text_out(graph->file, out);
			fprintf(out, ":%u", graph->line);
		}
		fprintf(out, "\n\n  %s calls, self %s, total %s\n",
			size_format_count((uint64_t)MAX(graph->calls, 0),
					  calls),
			format_time(graph->self_ns, self),
			format_time(graph->total_ns, total));
	}
	short_names_free(&names);
	if (!err)
		err = print_edges(graph, true, limit, full_names, out);
	if (!err)
		err = print_edges(graph, false, limit, full_names, out);
	some = graph->estimated;
	for (size_t i = 0; i < graph->callee_count; i++)
		some |= graph->callees[i].estimated;
	if (some)
		fprintf(out,
			"\n  ~: these calls were counted, few were recorded: "
			"the "
			"sum is exact, the callers\n     are an estimate%s\n",
			graph->sampled ? ""
				       : ", and the time is that of the "
					 "recorded ones");
	if (graph->sampled)
		fputs("\n  times are from CPU samples and the stacks of waits; "
		      "-: no call was recorded there\n",
		      out);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}
