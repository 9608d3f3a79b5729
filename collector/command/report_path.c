/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/report_path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/command/range_command.h"
#include "collector/command/report_trace_options.h"
#include "collector/command/trace_command.h"
#include "collector/names/name_fold.h"
#include "collector/options/call_expression.h"
#include "collector/options/opts.h"
#include "collector/read/call_search.h"
#include "collector/read/critical_path.h"
#include "collector/show/path_list_json.h"
#include "collector/show/progress.h"
#include "collector/show/table.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

#define LINES_SHOWN 10 /* above the table; more: --limit 0 */
#define NO_CALL "[no call]"

struct path_view {
	const struct report_trace_options *options;
	char file[PATH_MAX]; /* the trace */
	struct time_range range;
	struct path_call *calls; /* of options->function */
	size_t call_count;
	struct path_list list;
};

/* --- the calls ------------------------------------------------------------ */

static bool saw_path_function(const void *search, uint32_t text)
{
	return call_search_saw_function(search, text);
}

static int compare_path_calls(const void *left, const void *right)
{
	const struct path_call *a = left, *b = right;

	if (a->uuid != b->uuid)
		return a->uuid < b->uuid ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->to_ns < b->to_ns) - (a->to_ns > b->to_ns);
}

/* Leaves out calls inside of other calls of the function. */
static int keep_path_calls(struct path_view *view,
			   const struct call_search *search)
{
	if (!search->count) {
		if (!search->met_function)
			trace_command_say_function(
				"--view path", view->options->function,
				search->reader, saw_path_function, search);
		else if (!search->met_thread)
			trace_command_say_thread(view->options->thread,
						 search->reader);
		else
			log_err("--view path '%.200s': no call matches; "
				"perfrec find lists calls",
				view->options->function);
		return -ESRCH;
	}
	view->calls = calloc(search->count, sizeof(*view->calls));
	if (!view->calls)
		return -ENOMEM;
	for (size_t i = 0; i < search->count; i++)
		view->calls[i] =
			(struct path_call){ search->calls[i].track->uuid,
					    search->calls[i].begin_ns,
					    search->calls[i].end_ns };
	qsort(view->calls, search->count, sizeof(*view->calls),
	      compare_path_calls);
	for (size_t i = 0; i < search->count; i++) {
		const struct path_call call = view->calls[i];
		const struct path_call *outer =
			view->call_count ? &view->calls[view->call_count - 1]
					 : NULL;

		if (!outer || outer->uuid != call.uuid ||
		    outer->to_ns < call.to_ns)
			view->calls[view->call_count++] = call;
	}
	view->list.unseen = search->matched - search->count;
	return 0;
}

/* Returns 0, or -ESRCH or -EINVAL after one line in the log, or another
 * -errno. */
static int find_path_calls(struct path_view *view,
			   const struct read_progress *tell)
{
	struct call_expression expression;
	struct expression_error error;
	struct call_wish wish = { .range = view->range,
				  .thread = view->options->thread };
	struct call_search *search;
	int err;

	if (call_expression_parse(view->options->function, &expression,
				  &error)) {
		expression_complain("--view path", view->options->function,
				    &error);
		return -EINVAL;
	}
	wish.function = expression.function;
	wish.min_ns = expression.min_ns;
	wish.max_ns = expression.max_ns;
	if (expression.conditions.count)
		wish.conditions = &expression.conditions;
	err = call_search_run(view->file, &wish, tell, &search);
	if (err)
		return err;
	err = keep_path_calls(view, search);
	call_search_free(&search);
	return err;
}

/* --- text ----------------------------------------------------------------- */

static double share_of_path(const struct path_view *view, uint64_t ns)
{
	return view->list.path->length_ns
		       ? 100 * (double)ns / (double)view->list.path->length_ns
		       : 0;
}

static void print_path_head(const struct path_view *view, FILE *out)
{
	const struct critical_path *path = view->list.path;
	char length[SIZE_TEXT], count[SIZE_TEXT];

	fputs("\nperfrec: ", out);
	text_out(view->options->dir, out);
	size_format_ns(path->length_ns, length);
	size_format_count(path->chains, count);
	if (view->options->function) {
		fprintf(out, "\n\n  path       %s, of %s call%s of ", length,
			count, size_plural(path->chains));
		text_out(view->options->function, out);
	} else {
		fprintf(out, "\n\n  path       %s, of the %s", length,
			range_command_given(view->options->range) ? "range"
								  : "run");
	}
	fputc('\n', out);
	if (view->list.unseen)
		fprintf(out, "             without %s shorter calls\n",
			size_format_count(view->list.unseen, count));
}

static void print_path_stop(const struct path_view *view,
			    const struct path_stop *stop, FILE *out)
{
	char ns[SIZE_TEXT];

	fprintf(out,
		"  unknown    %s (%.1f %%): ", size_format_ns(stop->ns, ns),
		share_of_path(view, stop->ns));
	path_stop_print(&view->list, stop, out);
	if (stop->times > 1)
		fprintf(out, " (%llu times)", (unsigned long long)stop->times);
	fputc('\n', out);
}

static void print_path_stops(const struct path_view *view, FILE *out)
{
	const struct path_stop *stops = view->list.path->stops.items;
	const uint32_t count = view->list.path->stops.count;
	const uint32_t shown = view->options->limit
				       ? MIN(count, (uint32_t)LINES_SHOWN)
				       : count;
	uint64_t rest_ns = 0;
	char ns[SIZE_TEXT];

	for (uint32_t i = 0; i < count; i++)
		if (i < shown)
			print_path_stop(view, &stops[i], out);
		else
			rest_ns += stops[i].ns;
	if (shown < count)
		fprintf(out,
			"             %s (%.1f %%) for %u other reasons "
			"(--limit 0)\n",
			size_format_ns(rest_ns, ns),
			share_of_path(view, rest_ns), count - shown);
}

static void print_hand_overs(const struct path_view *view, FILE *out)
{
	const struct path_hand_over *at = view->list.path->hand_overs.items;
	const uint32_t count = view->list.path->hand_overs.count;
	const uint32_t shown = view->options->limit
				       ? MIN(count, (uint32_t)LINES_SHOWN)
				       : count;
	char ns[SIZE_TEXT], times[SIZE_TEXT], thread[PATH_THREAD_TEXT];
	char name[NAME_FOLD_BYTES];

	for (uint32_t i = 0; i < shown; i++, at++) {
		fprintf(out, "  hand-over  %s time%s, %s: ",
			size_format_count(at->times, times),
			size_plural(at->times), size_format_ns(at->ns, ns));
		text_out(path_thread_text(&view->list, at->from_tid, at->from,
					  thread),
			 out);
		if (at->function) {
			const char *text =
				path_list_text(&view->list, at->function);

			if (view->options->full_names)
				name_fold_clean(text, name);
			else
				name_fold(text, name);
			fprintf(out, " in %s", name);
		}
		fputs(" ended waits of ", out);
		text_out(path_thread_text(&view->list, at->to_tid, at->to,
					  thread),
			 out);
		fputs(" for ", out);
		text_out(path_list_text(&view->list, at->object), out);
		fputc('\n', out);
	}
	if (shown < count)
		fprintf(out,
			"             between %u other pairs (--limit 0)\n",
			count - shown);
}

static void add_path_row(const struct path_view *view, struct table *table,
			 const struct path_row *row)
{
	char share[16], time[SIZE_TEXT], on_cpu[SIZE_TEXT] = "?";
	char runnable[SIZE_TEXT] = "?", hand_over[SIZE_TEXT];
	char outside[SIZE_TEXT], unknown[SIZE_TEXT], thread[PATH_THREAD_TEXT];

	snprintf(share, sizeof(share), "%.1f",
		 share_of_path(view, path_row_ns(row)));
	if (view->list.path->has_switches) {
		size_format_ns(row->on_cpu_ns, on_cpu);
		size_format_ns(row->runnable_ns, runnable);
	}
	table_add(
		table,
		(const char *[]){ share, size_format_ns(path_row_ns(row), time),
				  on_cpu, runnable,
				  size_format_ns(row->hand_over_ns, hand_over),
				  size_format_ns(row->outside_ns, outside),
				  size_format_ns(row->unknown_ns, unknown),
				  path_thread_text(&view->list, row->tid,
						   row->thread, thread) },
		row->function ? path_list_text(&view->list, row->function)
			      : NO_CALL,
		"");
}

static int print_path_table(const struct path_view *view, size_t count,
			    FILE *out)
{
	static const struct table_column columns[] = {
		{ "%", 5, false, 0 },	      { "time", 9, false, 0 },
		{ "on CPU", 9, false, 2 },    { "runnable", 9, false, 3 },
		{ "hand-over", 9, false, 4 }, { "outside", 9, false, 5 },
		{ "unknown", 9, false, 6 },   { "thread", 8, true, 1 },
	};
	const struct terminal terminal = terminal_of(out);
	const struct critical_path *path = view->list.path;
	const struct path_row *rows = path->rows.items;
	struct table table;
	int err;

	print_path_head(view, out);
	print_path_stops(view, out);
	print_hand_overs(view, out);
	fputc('\n', out);
	table_init(&table, columns, ARRAY_SIZE(columns), "function");
	table.full_names = view->options->full_names;
	for (size_t i = 0; i < count; i++)
		add_path_row(view, &table, &rows[i]);
	err = table_print(&table, &terminal, out);
	table_release(&table);
	if (!err && count < path->rows.count)
		fprintf(out, "  (%zu of %u rows; all: --limit 0)\n", count,
			path->rows.count);
	return err ? err : fflush(out) || ferror(out) ? -EIO : 0;
}

/* --- the view ------------------------------------------------------------- */

/* Returns 0, or -errno after one line in the log. */
static int read_path(struct path_view *view)
{
	const struct report_trace_options *options = view->options;
	struct path_wish wish = { .thread = options->thread };
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	int err = trace_command_path(options->dir, view->file);

	if (!err)
		err = range_command_part(options->range, options->dir,
					 view->file, &view->range);
	progress_begin(&progress, "reading the trace", true);
	if (!err && options->function)
		err = find_path_calls(view, &tell);
	wish.range = view->range;
	wish.calls = view->calls;
	wish.call_count = view->call_count;
	if (!err)
		err = critical_path_read(view->file, &wish, &tell,
					 &view->list.path);
	progress_end(&progress);
	if (err == -ENOMEM)
		log_err("out of memory");
	else if (err && err != -EDOM && err != -ESRCH && err != -EINVAL)
		trace_command_log_open(options->dir, err);
	if (!err && !view->list.path->met_thread) {
		log_err("--thread '%.200s': no thread has that number or name",
			options->thread);
		err = -ENOENT;
	}
	return err;
}

int report_path_print(const struct report_trace_options *options, FILE *out)
{
	struct path_view view = { .options = options,
				  .list.function = options->function };
	int err = read_path(&view);
	size_t count = err ? 0 : view.list.path->rows.count;

	if (!err && !view.list.path->chains) {
		log_err("'%s' has no calls of threads%s, so it has no path",
			options->dir,
			options->thread || range_command_given(options->range)
				? " in the chosen part"
				: "");
		err = -ENOENT;
	}
	if (options->limit)
		count = MIN(count, options->limit);
	if (!err) {
		path_list_sort(&view.list, options->sort ?: "total");
		err = options->json ? json_text_print(
					      path_list_json(&view.list,
							     options->limit, 0),
					      out)
				    : print_path_table(&view, count, out);
	}
	if (!err && trace_command_check(options->dir, view.list.path->err,
					&view.list.path->totals) != OPTS_OK)
		err = -EBADMSG;
	free(view.calls);
	critical_path_free(&view.list.path);
	return err;
}
