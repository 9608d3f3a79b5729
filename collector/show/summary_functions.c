/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/summary_functions.h"

#include <string.h>

#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/show/summary_sched.h"
#include "collector/show/summary_slowed.h"
#include "collector/show/table.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

static bool has_many_modules(const struct summary *summary)
{
	const char *first = NULL;

	for (size_t i = 0; i < summary->function_count; i++) {
		const struct summary_function *one = &summary->functions[i];

		if (!one->calls && !one->self_ns)
			continue;
		if (first && strcmp(one->module, first) != 0)
			return true;
		first = one->module;
	}
	return false;
}

/* Marks of functions with unrecorded calls. */
struct marks {
	bool counted, off; /* there are such functions */
};

static bool is_function_off(const struct summary_function *function)
{
	return function->state && strcmp(function->state, "off") == 0;
}

/* True even if it was only counted for some time. */
static bool is_counted(const struct summary_function *function)
{
	return !is_function_off(function) &&
	       function->recorded < function->calls;
}

/* An older perfrec recorded all calls and wrote no such counts. */
static uint64_t recorded_calls(const struct summary_function *function)
{
	return function->state ? function->recorded : function->calls;
}

static bool has_function_hooks(const struct summary_function *function)
{
	return !function->state || strcmp(function->state, "none") != 0;
}

/* Returns true if the table shows @function: it has calls, was off from the
 * start, or has sampled time without hooks. The summary has other functions
 * only because they allocated, or called such a function. */
static bool is_function_listed(const struct summary_function *function)
{
	return function->calls || is_function_off(function) ||
	       function->self_ns;
}

static struct marks find_marks(const struct summary *summary)
{
	struct marks marks = { false, false };

	for (size_t i = 0; i < summary->function_count; i++) {
		const struct summary_function *one = &summary->functions[i];

		if (!is_function_listed(one) || !one->state)
			continue;
		marks.counted |= is_counted(one);
		marks.off |= is_function_off(one);
	}
	return marks;
}

/* The mean of fewer calls says nothing about the others. */
#define ESTIMATE_CALLS_MIN 30

static const char *format_sampled(uint64_t ns, uint64_t error_ns,
				  const struct summary_function *function,
				  char text[SIZE_TEXT])
{
	if (ns)
		return size_format_ns(ns, text);
	/* All calls together were not longer than measured. */
	if (function->calls && function->recorded == function->calls)
		error_ns = MIN(error_ns, function->recorded_total_ns);
	return size_format_ns_within(0, error_ns, text);
}

/* Formats the time of all calls. "~9.1 s": estimated from the recorded calls.
 * ">9.1 s": only recorded calls, because they are too few or the estimate
 * exceeds @most_ns. */
static const char *format_total(const struct summary_function *function,
				uint64_t most_ns, char text[SIZE_TEXT + 1])
{
	uint64_t recorded = recorded_calls(function);
	uint64_t ns = function->total_ns;
	double all_ns;

	if (!function->calls)
		return "?";
	if (recorded == function->calls) {
		size_format_ns(ns, text);
		return text;
	}
	if (!recorded)
		return "?";
	all_ns = (double)ns * (double)function->calls / (double)recorded;
	text[0] = '>';
	if (recorded >= ESTIMATE_CALLS_MIN && all_ns <= (double)most_ns) {
		text[0] = '~';
		ns = (uint64_t)all_ns;
	}
	size_format_ns(ns, text + 1);
	return text;
}

enum {
	COLUMN_CALLS,
	COLUMN_SELF,
	COLUMN_ERROR, /* only for times from samples */
	COLUMN_PERCENT,
	COLUMN_ON_CPU, /* this and the next three: only if known */
	COLUMN_RUNNABLE,
	COLUMN_BLOCKED,
	COLUMN_SWITCHES, /* only as sort key */
	COLUMN_TOTAL,
	COLUMN_MEDIAN, /* this and the next two: only if known */
	COLUMN_P99,
	COLUMN_MAX,
	COLUMN_MEAN, /* only with marks and times from calls */
	COLUMN_MARK, /* only with marks */
	COLUMN_COUNT
};

struct shown {
	struct table_column columns[COLUMN_COUNT];
	size_t count;
	bool has[COLUMN_COUNT];
};

static const struct table_column function_columns[COLUMN_COUNT] = {
	[COLUMN_CALLS] = { "calls", 15, false, 3 },
	[COLUMN_SELF] = { "self time", 9, false, 0 },
	[COLUMN_ERROR] = { "+-", 7, false, 3 },
	[COLUMN_PERCENT] = { "%", 5, false, 2 },
	[COLUMN_ON_CPU] = { "on CPU", 9, false, 7 },
	[COLUMN_RUNNABLE] = { "runnable", 9, false, 10 },
	[COLUMN_BLOCKED] = { "blocked", 9, false, 1 },
	[COLUMN_SWITCHES] = { "switches", 11, false, 0 },
	[COLUMN_TOTAL] = { "total", 9, false, 4 },
	[COLUMN_MEDIAN] = { "median", 9, false, 8 },
	[COLUMN_P99] = { "p99", 9, false, 5 },
	[COLUMN_MAX] = { "max", 9, false, 6 },
	[COLUMN_MEAN] = { "mean", 9, false, 9 },
	[COLUMN_MARK] = { "", 1, false, 0 },
};

/* The column of each order, which no terminal is too narrow for. */
static const size_t order_columns[] = {
	[SUMMARY_BY_SELF] = COLUMN_SELF,
	[SUMMARY_BY_TOTAL] = COLUMN_TOTAL,
	[SUMMARY_BY_CALLS] = COLUMN_CALLS,
	[SUMMARY_BY_NAME] = COLUMN_SELF,
	[SUMMARY_BY_MEDIAN] = COLUMN_MEDIAN,
	[SUMMARY_BY_P99] = COLUMN_P99,
	[SUMMARY_BY_MAX] = COLUMN_MAX,
	[SUMMARY_BY_ON_CPU] = COLUMN_ON_CPU,
	[SUMMARY_BY_RUNNABLE] = COLUMN_RUNNABLE,
	[SUMMARY_BY_BLOCKED] = COLUMN_BLOCKED,
	[SUMMARY_BY_SWITCHES] = COLUMN_SWITCHES,
};

/* Titles for a slowed run. */
static const char *const slowed_titles[COLUMN_COUNT] = {
	[COLUMN_SELF] = "self time" SUMMARY_SLOWED_MARK,
	[COLUMN_RUNNABLE] = "runnable" SUMMARY_SLOWED_MARK,
	[COLUMN_BLOCKED] = "blocked" SUMMARY_SLOWED_MARK,
	[COLUMN_TOTAL] = "total" SUMMARY_SLOWED_MARK,
};

static struct shown choose_summary_columns(const struct summary *summary,
					   enum summary_order order,
					   struct marks marks)
{
	bool sched = summary_sched_known(summary);
	bool single = summary_knows_durations(summary);
	bool marked = marks.counted || marks.off;
	bool sampled = summary_time_is_sampled(summary);
	bool slowed = summary_is_slowed(summary);
	struct shown shown = {
		.has = {
			[COLUMN_CALLS] = true,
			[COLUMN_SELF] = true,
			[COLUMN_ERROR] = sampled,
			[COLUMN_PERCENT] = true,
			[COLUMN_ON_CPU] = sched,
			[COLUMN_RUNNABLE] = sched,
			[COLUMN_BLOCKED] = sched,
			[COLUMN_SWITCHES] = sched &&
					    order == SUMMARY_BY_SWITCHES,
			[COLUMN_TOTAL] = true,
			[COLUMN_MEDIAN] = single,
			[COLUMN_P99] = single,
			[COLUMN_MAX] = single,
			[COLUMN_MEAN] = marked && !sampled,
			[COLUMN_MARK] = marked,
		},
	};

	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		if (!shown.has[i])
			continue;
		shown.columns[shown.count] = function_columns[i];
		if (slowed && slowed_titles[i])
			shown.columns[shown.count].title = slowed_titles[i];
		if (i == order_columns[order])
			shown.columns[shown.count].rank = 0;
		shown.count++;
	}
	return shown;
}

static const char *format_known_ns(uint64_t ns, char text[SIZE_TEXT])
{
	return ns == COUNTER_UNKNOWN ? "?" : size_format_ns(ns, text);
}

struct time_cells {
	char self[SIZE_TEXT], total[SIZE_TEXT + 1], error[SIZE_TEXT];
	char on_cpu[SIZE_TEXT];
	const char *self_cell, *total_cell, *on_cpu_cell;
};

static void make_time_cells(const struct summary_function *function,
			    bool sampled, uint64_t all_self_ns,
			    struct time_cells *out)
{
	out->error[0] = '\0';
	if (!sampled) {
		out->on_cpu_cell =
			size_format_ns(function->on_cpu_self_ns, out->on_cpu);
		out->self_cell = size_format_ns_within(
			function->self_ns, function->self_error_ns, out->self);
		out->total_cell =
			format_total(function, all_self_ns, out->total);
		return;
	}
	out->on_cpu_cell =
		format_sampled(function->on_cpu_self_ns,
			       function->self_error_ns, function, out->on_cpu);
	out->self_cell =
		format_sampled(function->self_ns, function->self_error_ns,
			       function, out->self);
	out->total_cell =
		format_sampled(function->total_ns, function->total_error_ns,
			       function, out->total);
	if (function->self_samples)
		size_format_ns(function->self_error_ns, out->error);
}

static const char *format_calls(const struct summary_function *function,
				char text[SIZE_TEXT])
{
	if (function->calls)
		return size_format_count(function->calls, text);
	return has_function_hooks(function) ? "?" : "-";
}

static void add_listed_function(struct table *table, const struct shown *shown,
				const struct summary_function *function,
				uint64_t all_self_ns, const char *module)
{
	char calls[SIZE_TEXT];
	char runnable[SIZE_TEXT], blocked[SIZE_TEXT];
	char percent[16], switches[SIZE_TEXT], mean[SIZE_TEXT] = "?";
	char median[SIZE_TEXT], p99[SIZE_TEXT], max[SIZE_TEXT];
	uint64_t recorded = recorded_calls(function);
	double share = all_self_ns
			       ? (double)function->self_ns / (double)all_self_ns
			       : 0;
	struct time_cells times;
	const char *cells[COLUMN_COUNT] = {
		[COLUMN_CALLS] = format_calls(function, calls),
		[COLUMN_ERROR] = times.error,
		[COLUMN_PERCENT] = percent,
		[COLUMN_RUNNABLE] =
			size_format_ns(function->runnable_self_ns, runnable),
		[COLUMN_BLOCKED] =
			size_format_ns(function->blocked_self_ns, blocked),
		[COLUMN_SWITCHES] =
			size_format_count(function->switches, switches),
		[COLUMN_MEDIAN] = format_known_ns(function->median_ns, median),
		[COLUMN_P99] = format_known_ns(function->p99_ns, p99),
		[COLUMN_MAX] = format_known_ns(function->max_ns, max),
		[COLUMN_MEAN] = mean,
		[COLUMN_MARK] = is_function_off(function) ? "o"
				: is_counted(function)	  ? "c"
							  : "",
	};
	const char *list[COLUMN_COUNT];
	size_t count;

	make_time_cells(function, shown->has[COLUMN_ERROR], all_self_ns,
			&times);
	cells[COLUMN_SELF] = times.self_cell;
	cells[COLUMN_ON_CPU] = times.on_cpu_cell;
	cells[COLUMN_TOTAL] = times.total_cell;
	if (!has_function_hooks(function))
		cells[COLUMN_MEDIAN] = cells[COLUMN_P99] = cells[COLUMN_MAX] =
			"-";
	snprintf(percent, sizeof(percent), "%.1f", 100 * share);
	if (recorded)
		size_format_ns(function->total_ns / recorded, mean);
	count = 0;
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		if (shown->has[i])
			list[count++] = cells[i];
	table_add(table, list, function->name, module);
}

static size_t count_listed(const struct summary *summary)
{
	size_t count = 0;

	for (size_t i = 0; i < summary->function_count; i++)
		count += is_function_listed(&summary->functions[i]);
	return count;
}

static void add_summary_functions(struct table *table,
				  const struct shown *shown,
				  const struct summary *summary, size_t count)
{
	bool with_module = has_many_modules(summary);
	uint64_t all_self_ns = 0;

	for (size_t i = 0; i < summary->function_count; i++)
		all_self_ns += summary->functions[i].self_ns;
	for (size_t i = 0; count; i++) {
		const struct summary_function *one = &summary->functions[i];

		if (!is_function_listed(one))
			continue;
		add_listed_function(table, shown, one, all_self_ns,
				    with_module ? one->module : NULL);
		count--;
	}
}

/* Rows above this share of the time on CPUs come first, when most time is
 * waiting. At most 50 functions have it. */
#define BUSY_SHARE 0.02

/* Returns the time on CPUs from which a function is busy: one sample is too
 * little. */
static uint64_t find_least_busy(const struct summary *summary)
{
	uint64_t all_ns = 0, samples = 0;
	double share = BUSY_SHARE;

	for (size_t i = 0; i < summary->function_count; i++) {
		all_ns += summary->functions[i].on_cpu_self_ns;
		samples += summary->functions[i].self_samples;
	}
	if (summary_time_is_sampled(summary) && samples)
		share = MAX(share, 1.5 / (double)samples);
	return (uint64_t)((double)all_ns * share) + 1;
}

/* Sorts by the time on CPUs if threads were asleep most of the time. Functions
 * with little of it would hide one that blocked for seconds, so the self time
 * sorts these. Returns the order. */
static enum summary_order sort_summary_rows(struct summary *summary,
					    const struct summary_rows *rows)
{
	enum summary_order order = rows->order;

	if (order == SUMMARY_BY_USUAL)
		order = summary_sched_waiting(summary) > SUMMARY_WAITING_MOST
				? SUMMARY_BY_ON_CPU
				: SUMMARY_BY_SELF;
	if (order == SUMMARY_BY_ON_CPU && order != rows->order)
		summary_sort_busy_first(summary, find_least_busy(summary));
	else
		summary_sort(summary, order);
	return order;
}

int summary_functions_print(struct summary *summary,
			    const struct summary_rows *rows,
			    const struct terminal *terminal, FILE *out)
{
	size_t count = count_listed(summary);
	size_t shown = rows->limit ? MIN(count, rows->limit) : count;
	const struct marks marks = find_marks(summary);
	enum summary_order order = sort_summary_rows(summary, rows);
	const struct shown columns =
		choose_summary_columns(summary, order, marks);
	struct table table;
	int err;

	if (!count)
		return 0;
	table_init(&table, columns.columns, columns.count, "function");
	table.full_names = rows->full_names;
	add_summary_functions(&table, &columns, summary, shown);
	if (order != rows->order && order == SUMMARY_BY_ON_CPU) {
		summary_sched_print_order(summary, out);
		fprintf(out,
			"  functions below %.0f %% of it or with one sample "
			"follow, by self time\n",
			100 * BUSY_SHARE);
	}
	fputc('\n', out);
	err = terminal ? table_print(&table, terminal, out)
		       : table_print_markdown(&table, out);
	table_release(&table);
	if (shown < count && terminal) {
		fprintf(out,
			"  (%zu of %zu functions; all: perfrec report "
			"--limit 0 ",
			shown, count);
		text_out_quoted(rows->dir, out);
		fputs(")\n", out);
	}
	if (columns.has[COLUMN_ERROR]) {
		if (marks.counted)
			fputs("  c = all calls counted, few recorded: median, "
			      "p99 and max are of those\n",
			      out);
		if (marks.off)
			fputs("  o = switched off during the run: later calls "
			      "are not counted (?: off from the start)\n",
			      out);
	} else {
		if (marks.counted)
			fputs("  c = all calls counted, few recorded: the mean "
			      "is of those, ~ is estimated from it,\n"
			      "      > is the recorded part; the rest of the "
			      "time is in the callers\n",
			      out);
		if (marks.off)
			fputs("  o = switched off during the run: later calls "
			      "are not counted (?: off from the start)\n",
			      out);
	}
	summary_slowed_print_mark(summary, out);
	return err;
}
