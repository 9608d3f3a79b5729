/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/range_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/show/table.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

#define FACT_INDENT 13

static const char *const order_keys[] = {
	[RANGE_BY_SELF] = "self",   [RANGE_BY_TOTAL] = "total",
	[RANGE_BY_CALLS] = "calls", [RANGE_BY_MAX] = "max",
	[RANGE_BY_NAME] = "name",
};

bool range_report_find_order(const char *key, enum range_order *order,
			     const char **keys)
{
	*keys = "self, total, calls, max or name";
	for (size_t i = 0; i < ARRAY_SIZE(order_keys); i++)
		if (strcmp(order_keys[i], key) == 0) {
			*order = (enum range_order)i;
			return true;
		}
	return false;
}

/* --- rows --- */

static uint64_t key_of(const struct sums_function *function,
		       enum range_order order)
{
	switch (order) {
	case RANGE_BY_TOTAL:
		return function->total_ns;
	case RANGE_BY_CALLS:
		return function->calls;
	case RANGE_BY_MAX:
		return function->longest_ns;
	case RANGE_BY_NAME:
		return 0;
	default:
		return function->self_ns;
	}
}

static int compare_range_rows(const void *a, const void *b)
{
	const struct range_row *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return strcmp(x->name, y->name);
}

struct range_row *range_report_rows(const struct range_report *report)
{
	const struct trace_sums *sums = report->sums;
	struct range_row *rows =
		calloc((size_t)sums->function_count + 1, sizeof(*rows));

	for (uint32_t i = 0; rows && i < sums->function_count; i++)
		rows[i] = (struct range_row){
			.function = &sums->functions[i],
			.name = trace_reader_text(sums->tree.reader,
						  sums->functions[i].name),
			.key = key_of(&sums->functions[i], report->order),
		};
	if (rows)
		qsort(rows, sums->function_count, sizeof(*rows),
		      compare_range_rows);
	return rows;
}

size_t range_report_shown(const struct range_report *report)
{
	size_t count = report->sums->function_count;

	return report->limit ? MIN(count, report->limit) : count;
}

/* --- facts --- */

uint64_t range_report_from(const struct range_report *report)
{
	return report->range.from_ns -
	       MIN(report->range.from_ns, report->bounds.first_ns);
}

uint64_t range_report_to(const struct range_report *report)
{
	uint64_t to = report->range.to_ns;

	if (to == UINT64_MAX)
		to = report->bounds.last_ns + 1;
	return to - MIN(to, report->bounds.first_ns);
}

static void print_range(const struct range_report *report, FILE *out)
{
	uint64_t from = range_report_from(report), to = range_report_to(report);
	char first[TIME_RANGE_TEXT], last[TIME_RANGE_TEXT], size[SIZE_TEXT];

	if (!report->range.from_ns && report->range.to_ns == UINT64_MAX) {
		fprintf(out, "  range      all of the recording: %s\n",
			size_format_ns(to, size));
		return;
	}
	fprintf(out, "  range      %s to %s: %s of the recording's ",
		time_range_text(from, first),
		report->range.to_ns == UINT64_MAX ? "the end"
						  : time_range_text(to, last),
		size_format_ns(to - from, size));
	fprintf(out, "%s\n",
		time_range_text(report->bounds.last_ns -
					report->bounds.first_ns,
				last));
}

static void print_calls(const struct range_report *report, FILE *out)
{
	const struct trace_sums *sums = report->sums;
	uint64_t threads = sums->tree.thread_count - 1;
	char calls[SIZE_TEXT], count[SIZE_TEXT], processes[SIZE_TEXT];

	fprintf(out, "  calls      %s of %s thread%s",
		size_format_count(sums->spans, calls),
		size_format_count(threads, count), size_plural(threads));
	if (sums->processes)
		fprintf(out, " in %s process%s",
			size_format_count(sums->processes, processes),
			sums->processes == 1 ? "" : "es");
	if (report->thread) {
		fputs(": only of thread ", out);
		text_out(report->thread, out);
	}
	fputc('\n', out);
}

static void print_clipped(const struct trace_sums *sums, FILE *out)
{
	char before[SIZE_TEXT], after[SIZE_TEXT];

	if (!sums->open_before && !sums->open_after)
		return;
	fprintf(out,
		"  clipped    %s began before it, %s ended after it: only "
		"their time inside counts\n",
		size_format_count(sums->open_before, before),
		size_format_count(sums->open_after, after));
}

static void print_missing(const struct trace_sums *sums,
			  const struct terminal *terminal, FILE *out)
{
	char count[SIZE_TEXT], size[SIZE_TEXT];

	if (sums->paused)
		fprintf(out,
			"  paused     %s call%s not recorded: in a pause\n",
			size_format_count(sums->paused, count),
			sums->paused == 1 ? " was" : "s were");
	if (sums->waits)
		fprintf(out,
			"  stopped    perfrec stopped your program %s time%s, "
			"%s summed over threads: no function has this time\n",
			size_format_count(sums->waits, count),
			size_plural(sums->waits),
			size_format_ns(sums->wait_ns, size));
	if (sums->tree.folded)
		fprintf(out,
			"  left out   %s call%s, of more stacks than fit into "
			"memory: their callers have the time\n",
			size_format_count(sums->tree.folded, count),
			size_plural(sums->tree.folded));
	if (!sums->lost) {
		fputs("  lost       nothing\n", out);
		return;
	}
	terminal_style(terminal, STYLE_LOSS, out);
	fprintf(out, "  lost       %s call%s: a ring was full\n",
		size_format_count(sums->lost, count),
		sums->lost == 1 ? " is missing" : "s are missing");
	terminal_style(terminal, STYLE_PLAIN, out);
}

/* Reports calls that --min-duration kept out of the trace. */
static void print_short(const struct trace_sums *sums, FILE *out)
{
	uint64_t min_ns = trace_reader_min_duration(sums->tree.reader);
	char text[SIZE_TEXT];

	if (min_ns)
		fprintf(out,
			"  short      calls shorter than %s are missing: they "
			"are not in the trace (--min-duration), and their time "
			"is their callers'\n",
			size_format_ns(min_ns, text));
}

static void write_range_facts(const struct range_report *report,
			      const struct terminal *terminal, FILE *out)
{
	print_range(report, out);
	print_calls(report, out);
	print_clipped(report->sums, out);
	print_short(report->sums, out);
	print_missing(report->sums, terminal, out);
	fputs("  note       from the trace, so times are as measured; without "
	      "waits, CPU samples, allocations, calls that were only counted, "
	      "and modules: see perfrec report ",
	      out);
	text_out_quoted(report->dir, out);
	fputc('\n', out);
}

/* Prints one line per fact, wrapped on a narrow terminal. */
static void print_range_facts(const struct range_report *report,
			      const struct terminal *terminal, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *lines = terminal->columns ? open_memstream(&text, &size) : NULL;

	write_range_facts(report, terminal, lines ? lines : out);
	if (lines && !fclose(lines))
		terminal_wrap(terminal, text, FACT_INDENT, out);
	free(text);
}

/* --- the table --- */

static const struct table_column columns[] = {
	{ "calls", 15, false, 3 }, { "self time", 9, false, 0 },
	{ "%", 5, false, 2 },	   { "total", 9, false, 4 },
	{ "max", 9, false, 5 },
};

static void add_range_row(struct table *table, const struct range_row *row,
			  uint64_t all_self_ns)
{
	const struct sums_function *function = row->function;
	char calls[SIZE_TEXT], self[SIZE_TEXT], total[SIZE_TEXT];
	char longest[SIZE_TEXT], percent[16];
	double share = all_self_ns
			       ? (double)function->self_ns / (double)all_self_ns
			       : 0;

	snprintf(percent, sizeof(percent), "%.1f", 100 * share);
	table_add(
		table,
		(const char *[]){
			size_format_count(function->calls, calls),
			size_format_ns(function->self_ns, self), percent,
			size_format_ns(function->total_ns, total),
			function->longest_ns
				? size_format_ns(function->longest_ns, longest)
				: "-" },
		row->name, NULL);
}

/* @terminal NULL: Markdown. */
static int print_range_rows(const struct range_report *report,
			    const struct terminal *terminal, FILE *out)
{
	struct range_row *rows = range_report_rows(report);
	size_t shown = range_report_shown(report);
	uint64_t all_self_ns = 0;
	struct table table;
	int err;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < report->sums->function_count; i++)
		all_self_ns += report->sums->functions[i].self_ns;
	table_init(&table, columns, ARRAY_SIZE(columns), "function");
	table.full_names = report->full_names;
	for (size_t i = 0; i < shown; i++)
		add_range_row(&table, &rows[i], all_self_ns);
	err = terminal ? table_print(&table, terminal, out)
		       : table_print_markdown(&table, out);
	table_release(&table);
	free(rows);
	return err;
}

struct range_counters range_report_counters(const struct range_report *report)
{
	return (struct range_counters){
		.curves = report->curves,
		.thread = report->thread,
		.limit = report->limit,
	};
}

/* @terminal NULL: Markdown. */
static int print_counters(const struct range_report *report,
			  const struct terminal *terminal, FILE *out)
{
	const struct range_counters counters = range_report_counters(report);

	return range_counters_print(&counters, terminal, out);
}

static int print_table(const struct range_report *report,
		       const struct terminal *terminal, FILE *out)
{
	size_t count = report->sums->function_count;
	int err;

	if (!count) {
		fputs("\n  No function ran in it.\n", out);
		return 0;
	}
	fputc('\n', out);
	err = print_range_rows(report, terminal, out);
	if (range_report_shown(report) < count && terminal)
		fprintf(out, "  (%zu of %zu functions; all: --limit 0)\n",
			range_report_shown(report), count);
	return err;
}

int range_report_print(const struct range_report *report, FILE *out)
{
	const struct terminal terminal = terminal_of(out);
	int err;

	fputs("\nperfrec: a part of ", out);
	text_out_quoted(report->dir, out);
	fputs("\n\n", out);
	print_range_facts(report, &terminal, out);
	err = print_table(report, &terminal, out);
	if (!err)
		err = print_counters(report, &terminal, out);
	return fflush(out) || ferror(out) ? -EIO : err;
}

int range_report_print_markdown(const struct range_report *report, FILE *out)
{
	static const struct terminal plain;
	int err;

	fputs("**perfrec**: a part of a recording\n\n```text\n", out);
	print_range_facts(report, &plain, out);
	fputs("```\n", out);
	err = print_table(report, NULL, out);
	if (!err)
		err = print_counters(report, NULL, out);
	return fflush(out) || ferror(out) ? -EIO : err;
}
