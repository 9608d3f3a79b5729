/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/compare/together.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/compare/diff.h"
#include "collector/compare/row_text.h"
#include "collector/compare/spread.h"
#include "shared/compiler.h"

#define NUMBER_TEXT 32

/* --- values -------------------------------------------------------------- */

static const struct sort_key {
	const char *key;
	const char *metric; /* NULL: by name */
} sort_keys[] = {
	{ "self", "wall" },	    { "total", "wall.total" },
	{ "calls", "calls" },	    { "on-cpu", "on_cpu" },
	{ "runnable", "runnable" }, { "blocked", "blocked" },
	{ "switches", "switches" }, { "cpu", "cpu" },
	{ "name", NULL },
};

static const struct sort_key *find_sort(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(sort_keys); i++)
		if (!strcmp(key ? key : "self", sort_keys[i].key))
			return &sort_keys[i];
	return NULL;
}

bool together_check_sort(const char *key)
{
	if (find_sort(key))
		return true;
	log_err("--sort '%.64s': of several recordings choose self, total, "
		"calls, on-cpu, runnable, blocked, switches, cpu or name",
		key);
	return false;
}

struct together together_values(double *values, size_t count)
{
	struct together out = { 0 };

	for (size_t i = 0; i < count; i++) {
		out.sum += values[i];
		if (values[i] > values[out.most])
			out.most = i;
	}
	out.median = spread_median(values, count);
	out.min = values[0];
	out.max = values[count - 1];
	if (out.sum > 0)
		out.imbalance = out.max * (double)count / out.sum;
	return out;
}

struct together together_row(const struct runs *runs, size_t row, size_t metric,
			     double *scratch)
{
	for (size_t i = 0; i < runs->count; i++)
		scratch[i] = (double)runs_value(runs, row, metric, i);
	return together_values(scratch, runs->count);
}

static double sum_of_row(const struct runs *runs, size_t row, uint32_t metric)
{
	double sum = 0;

	for (size_t i = 0; metric != RUNS_NONE && i < runs->count; i++)
		sum += (double)runs_value(runs, row, metric, i);
	return sum;
}

/* A function without a sample has a bound instead of an error. Bounds do not
 * add up, because the recordings together have no sample of it either. */
static void add_error(struct together_error *to,
		      const struct summary_function *function, bool sampled)
{
	double ns = (double)function->self_error_ns;

	if (sampled && !function->self_samples) {
		if (!to->samples)
			to->ns = MAX(to->ns, ns);
		return;
	}
	if (sampled && !to->samples)
		to->ns = 0;
	to->samples += function->self_samples;
	to->ns = hypot(to->ns, ns);
}

struct together_error *together_errors(const struct runs *runs)
{
	struct together_error *errors =
		calloc(runs_row_count(runs) + 1, sizeof(*errors));

	for (size_t i = 0; errors && i < runs->count; i++) {
		const struct run *run = &runs->list[i];
		bool sampled = summary_time_is_sampled(run->summary);

		for (size_t k = 0; k < run->summary->function_count; k++)
			add_error(&errors[run->summary_ids[k]],
				  &run->summary->functions[k], sampled);
	}
	return errors;
}

static bool have_ranks(const struct runs *runs)
{
	for (size_t i = 0; i < runs->count; i++) {
		const struct summary *one = runs->list[i].summary;

		if (one->first_rank < 0 || one->first_rank != one->last_rank)
			return false;
		for (size_t k = 0; k < i; k++)
			if (runs->list[k].summary->first_rank ==
			    one->first_rank)
				return false;
	}
	return true;
}

const char *together_name(const struct runs *runs, size_t run, char text[32])
{
	if (!have_ranks(runs))
		return runs->list[run].dir;
	snprintf(text, 32, "rank %" PRId64,
		 runs->list[run].summary->first_rank);
	return text;
}

/* --- order --------------------------------------------------------------- */

struct summed_row {
	size_t row;
	double value; /* all 0: by name */
	const char *name;
};

static int compare_summed(const void *left, const void *right)
{
	const struct summed_row *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return order ? order : a->row < b->row ? -1 : a->row > b->row;
}

static size_t fill_summed(const struct runs *runs, uint32_t by,
			  struct summed_row *list)
{
	uint32_t calls = runs_find_metric(runs, "calls");
	uint32_t wall = runs_find_metric(runs, "wall");
	size_t count = 0;

	for (size_t row = 0; row < runs_row_count(runs); row++) {
		double value = sum_of_row(runs, row, by);

		if (value > 0 || sum_of_row(runs, row, calls) > 0 ||
		    sum_of_row(runs, row, wall) > 0)
			list[count++] = (struct summed_row){
				row, value, runs_frame(runs, row, 0)->name
			};
	}
	qsort(list, count, sizeof(*list), compare_summed);
	return count;
}

/* Sets *@out to the metric to sort by; RUNS_NONE: by name. 0 or -EINVAL. */
static int find_sum_order(const struct runs *runs, const char *key,
			  uint32_t *out)
{
	const struct sort_key *sort = find_sort(key);

	*out = sort->metric ? runs_find_metric(runs, sort->metric) : RUNS_NONE;
	if (!sort->metric || *out != RUNS_NONE)
		return 0;
	log_err("--sort '%s': some of the recordings do not have this value",
		sort->key);
	return -EINVAL;
}

size_t *together_rows(const struct runs *runs,
		      const struct together_options *options, size_t *count)
{
	size_t rows = runs_row_count(runs);
	struct summed_row *list;
	size_t *out;
	uint32_t by;

	*count = 0;
	if (find_sum_order(runs, options->sort, &by))
		return NULL;
	list = calloc(rows + 1, sizeof(*list));
	out = calloc(rows + 1, sizeof(*out));
	if (list && out) {
		*count = fill_summed(runs, by, list);
		for (size_t i = 0; i < *count; i++)
			out[i] = list[i].row;
	} else {
		log_err("out of memory");
		free(out);
		out = NULL;
	}
	free(list);
	return out;
}

/* --- tables -------------------------------------------------------------- */

/* Columns that are sums, by the keys of their metrics. */
enum {
	CALLS,
	SELF,
	ERROR, /* of SELF, if that is from samples */
	PERCENT, /* of SELF */
	ON_CPU,
	BLOCKED,
	TOTAL,
	SUM_COLUMNS
};

static const struct sum_column {
	const char *key;
	struct table_column column;
} sum_columns[SUM_COLUMNS] = {
	[CALLS] = { "calls", { "calls", 15, false, 3 } },
	[SELF] = { "wall", { "self time", 9, false, 0 } },
	[ERROR] = { "wall", { "+-", 7, false, 5 } },
	[PERCENT] = { "wall", { "%", 5, false, 2 } },
	[ON_CPU] = { "on_cpu", { "on CPU", 9, false, 6 } },
	[BLOCKED] = { "blocked", { "blocked", 9, false, 1 } },
	[TOTAL] = { "wall.total", { "total", 9, false, 4 } },
};

/* The columns of a table, and their metrics. */
struct sum_table {
	struct table_column columns[SUM_COLUMNS];
	int what[SUM_COLUMNS];
	uint32_t metric[SUM_COLUMNS];
	size_t count;
	double all_self;
};

static struct sum_table choose_sum_columns(const struct runs *runs,
					   bool functions)
{
	struct sum_table out = { 0 };

	for (int i = 0; i < SUM_COLUMNS; i++) {
		uint32_t metric = runs_find_metric(runs, sum_columns[i].key);

		if (metric == RUNS_NONE ||
		    (!functions && (i == ERROR || i == TOTAL)) ||
		    (i == ERROR && !runs->metric[metric].sampled))
			continue;
		out.columns[out.count] = sum_columns[i].column;
		out.what[out.count] = i;
		out.metric[out.count++] = metric;
		for (size_t run = 0; i == SELF && run < runs->count; run++)
			out.all_self += (double)runs->sum[metric][run];
	}
	return out;
}

/* The values of a function, or of a recording, for the columns of @table.
 * @error: NULL if times are from calls. */
static void format_sums(const struct runs *runs, const struct sum_table *table,
			const double *values,
			const struct together_error *error,
			char text[SUM_COLUMNS][ROW_VALUE_TEXT],
			const char **cells)
{
	double all = table->all_self > 0 ? table->all_self : 1;

	for (size_t i = 0; i < table->count; i++) {
		int what = table->what[i];

		cells[i] = text[i];
		if (what == PERCENT)
			snprintf(text[i], ROW_VALUE_TEXT, "%.1f",
				 100 * values[i] / all);
		else if (what == SELF || what == ERROR) {
			bool is_error = what == ERROR;

			/* Without samples, a time of 0 is shown as its
			 * bound, and its error is blank. */
			text[i][0] = '\0';
			if (!is_error && error && !error->samples &&
			    values[i] <= 0)
				size_format_ns_within(0, (uint64_t)error->ns,
						      text[i]);
			else if (!is_error)
				size_format_ns((uint64_t)values[i], text[i]);
			else if (error && error->samples)
				size_format_ns((uint64_t)error->ns, text[i]);
		} else
			row_value(&runs->metric[table->metric[i]], values[i],
				  false, text[i]);
	}
}

static int print_sum_table(const struct runs *runs,
			   const struct together_options *options,
			   const size_t *rows, size_t count, FILE *out)
{
	struct sum_table sums = choose_sum_columns(runs, true);
	struct terminal terminal = terminal_of(out);
	struct together_error *errors = together_errors(runs);
	bool sampled = false;
	struct table table;
	int err = -ENOMEM;

	for (size_t k = 0; k < sums.count; k++)
		sampled |= sums.what[k] == ERROR;
	table_init(&table, sums.columns, sums.count, "function");
	table.full_names = options->full_names;
	for (size_t i = 0; errors && i < count; i++) {
		char text[SUM_COLUMNS][ROW_VALUE_TEXT];
		const char *cells[SUM_COLUMNS];
		double values[SUM_COLUMNS];

		for (size_t k = 0; k < sums.count; k++)
			values[k] = sum_of_row(runs, rows[i], sums.metric[k]);
		format_sums(runs, &sums, values,
			    sampled ? &errors[rows[i]] : NULL, text, cells);
		row_add(runs, rows[i], cells, &table);
	}
	if (errors)
		err = table_print(&table, &terminal, out);
	table_release(&table);
	free(errors);
	return err;
}

/* How the value that rows are sorted by spreads; of names, self time. */
static int print_spreads(const struct runs *runs,
			 const struct together_options *options,
			 const size_t *rows, size_t count, FILE *out)
{
	static const struct table_column columns[] = {
		{ "min", 10, false, 2 },   { "median", 10, false, 3 },
		{ "max", 10, false, 0 },   { "max/mean", 8, false, 0 },
		{ "most in", 8, true, 1 },
	};
	double *scratch = calloc(runs->count + 1, sizeof(*scratch));
	struct terminal terminal = terminal_of(out);
	struct table table;
	uint32_t metric;
	int err = find_sum_order(runs, options->sort, &metric);

	if (metric == RUNS_NONE)
		metric = runs_find_metric(runs, "wall");
	fprintf(out, "\n  %s, by recording\n\n", runs->metric[metric].title);
	table_init(&table, columns, ARRAY_SIZE(columns), "function");
	table.full_names = options->full_names;
	for (size_t i = 0; scratch && i < count; i++) {
		const struct together one =
			together_row(runs, rows[i], metric, scratch);
		const double values[] = { one.min, one.median, one.max };
		char text[ARRAY_SIZE(values)][ROW_VALUE_TEXT],
			share[NUMBER_TEXT];
		char name[NUMBER_TEXT];
		const char *cells[ARRAY_SIZE(values) + 2];

		for (size_t j = 0; j < ARRAY_SIZE(values); j++)
			cells[j] = row_value(&runs->metric[metric], values[j],
					     false, text[j]);
		snprintf(share, sizeof(share), "%.2f", one.imbalance);
		cells[3] = share;
		cells[4] =
			one.sum > 0 ? together_name(runs, one.most, name) : "";
		row_add(runs, rows[i], cells, &table);
	}
	if (!err)
		err = scratch ? table_print(&table, &terminal, out) : -ENOMEM;
	table_release(&table);
	free(scratch);
	return err;
}

static void print_head(const struct runs *runs, FILE *out)
{
	uint64_t spans = 0, threads = 0, processes = 0, least = UINT64_MAX;
	uint64_t most = 0, counted = 0;
	char text[3][SIZE_TEXT];

	for (size_t i = 0; i < runs->count; i++) {
		const struct summary *one = runs->list[i].summary;

		spans += one->totals.spans;
		threads += one->totals.span_threads;
		processes += one->totals.span_processes;
		counted += one->totals.counted_calls;
		least = MIN(least, one->wall_ns);
		most = MAX(most, one->wall_ns);
	}
	fputs("\nperfrec: ", out);
	text_out(runs->list[0].dir, out);
	fprintf(out, " and %zu more recording%s\n", runs->count - 1,
		runs->count == 2 ? "" : "s");
	diff_print_notes(runs, out);
	fprintf(out, "\n  wall time  %s to %s each\n",
		size_format_ns(least, text[0]), size_format_ns(most, text[1]));
	fprintf(out, "  recorded   %s calls of %s threads in %s processes\n",
		size_format_count(spans, text[0]),
		size_format_count(threads, text[1]),
		size_format_count(processes, text[2]));
	if (counted)
		fprintf(out,
			"  counted    %s more calls have no times of their "
			"own\n",
			size_format_count(counted, text[0]));
	fputc('\n', out);
}

int together_print(const struct runs *runs,
		   const struct together_options *options, FILE *out)
{
	size_t count, shown;
	size_t *rows = together_rows(runs, options, &count);
	int err = 0;

	if (!rows)
		return -EINVAL;
	shown = options->limit ? MIN(options->limit, count) : count;
	print_head(runs, out);
	if (options->by_recording) {
		struct sum_table sums = choose_sum_columns(runs, false);
		struct terminal terminal = terminal_of(out);
		char(*names)[NUMBER_TEXT] = calloc(runs->count, sizeof(*names));
		struct table table;

		err = -ENOMEM;
		table_init(&table, sums.columns, sums.count, "recording");
		table.full_names = true;
		for (size_t i = 0; names && i < runs->count; i++) {
			char text[SUM_COLUMNS][ROW_VALUE_TEXT];
			const char *cells[SUM_COLUMNS];
			double values[SUM_COLUMNS];

			for (size_t k = 0; k < sums.count; k++)
				values[k] =
					(double)runs->sum[sums.metric[k]][i];
			format_sums(runs, &sums, values, NULL, text, cells);
			table_add(&table, cells,
				  together_name(runs, i, names[i]), NULL);
		}
		if (names)
			err = table_print(&table, &terminal, out);
		table_release(&table);
		free(names);
	}
	if (!err)
		err = (options->by_recording ? print_spreads : print_sum_table)(
			runs, options, rows, shown, out);
	if (shown < count)
		fprintf(out, "  and %zu more (--limit 0)\n", count - shown);
	free(rows);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}
