/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/compare/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/path.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/compare/row_text.h"
#include "collector/compare/spread.h"
#include "shared/compiler.h"

/* --- order --------------------------------------------------------------- */

struct row_order {
	const struct diff *diff;
	size_t metric;
};

static int compare_diff_rows(const void *left, const void *right, void *context)
{
	const size_t *a = left, *b = right;
	const struct row_order *by = context;
	const struct judge_cell *one =
		judged_cell(&by->diff->judged, *a, by->metric);
	const struct judge_cell *two =
		judged_cell(&by->diff->judged, *b, by->metric);
	double far_one = fabs(one->b - one->a), far_two = fabs(two->b - two->a);

	if (one->changed != two->changed)
		return one->changed ? -1 : 1;
	if (one->may_have_changed != two->may_have_changed)
		return one->may_have_changed ? -1 : 1;
	if (far_one != far_two)
		return far_one > far_two ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

size_t *diff_rows(const struct diff *diff, size_t metric, size_t *count)
{
	size_t rows = runs_row_count(diff->runs);
	size_t *list = calloc(rows + 1, sizeof(*list));
	struct row_order order = { diff, metric };

	*count = 0;
	if (!list)
		return NULL;
	for (size_t row = 0; row < rows; row++) {
		const struct judge_cell *cell =
			judged_cell(&diff->judged, row, metric);

		if (cell->changed || cell->a != cell->b)
			list[(*count)++] = row;
	}
	qsort_r(list, *count, sizeof(*list), compare_diff_rows, &order);
	return list;
}

/* --- notes --------------------------------------------------------------- */

static const char *program_of(const struct run *run)
{
	const char *path = run->summary->command[0];

	return path ? path_name(path) : "";
}

static bool note_programs(const struct runs *runs, char *text, size_t room)
{
	const char *a = program_of(&runs->list[0]);

	for (size_t i = 1; i < runs->count; i++) {
		const char *b = program_of(&runs->list[i]);

		if (strcmp(a, b) == 0)
			continue;
		snprintf(text, room,
			 "different programs, compared by name all the same: "
			 "'%.100s' of %.100s, '%.100s' of %.100s",
			 a, runs->list[0].dir, b, runs->list[i].dir);
		return true;
	}
	return false;
}

static bool note_versions(const struct runs *runs, char *text, size_t room)
{
	const char *a = runs->list[0].summary->version;

	for (size_t i = 1; i < runs->count; i++) {
		const char *b = runs->list[i].summary->version;

		if (strcmp(a, b) == 0)
			continue;
		snprintf(text, room,
			 "recorded by different versions of perfrec: %.20s of "
			 "%.100s, %.20s of %.100s",
			 a, runs->list[0].dir, b, runs->list[i].dir);
		return true;
	}
	return false;
}

static bool note_running(const struct runs *runs, char *text, size_t room)
{
	for (size_t i = 0; i < runs->count; i++) {
		if (!runs->list[i].summary->running)
			continue;
		snprintf(text, room, "%.200s ended while a process still ran",
			 runs->list[i].dir);
		return true;
	}
	return false;
}

static bool note_incomplete(const struct runs *runs, char *text, size_t room)
{
	for (size_t i = 0; i < runs->count; i++) {
		if (runs->list[i].complete)
			continue;
		snprintf(text, room,
			 "%.100s is not complete (see perfrec report "
			 "%.100s): its counts are too small",
			 runs->list[i].dir, runs->list[i].dir);
		return true;
	}
	return false;
}

/* For times; note_incomplete() is for counts. */
static bool note_rebuilt(const struct runs *runs, char *text, size_t room)
{
	for (size_t i = 0; i < runs->count; i++) {
		if (!runs->list[i].summary->rebuilt)
			continue;
		snprintf(text, room,
			 "%.200s was made from its trace: its times are as "
			 "they were measured, with what perfrec took in them",
			 runs->list[i].dir);
		return true;
	}
	return false;
}

static bool note_mixed(const struct runs *runs, char *text, size_t room)
{
	if (!runs->mixed_times)
		return false;
	snprintf(text, room,
		 "some recordings have times from samples, others from calls: "
		 "%s; record all of them with the same --overhead",
		 runs->stacks ? "times of stacks do not compare"
			      : "times of recorded calls are compared");
	return true;
}

static bool note_left_out(const struct runs *runs, char *text, size_t room)
{
	if (!runs->left_out[0])
		return false;
	snprintf(text, room, "not compared, since some recordings lack it: %s",
		 runs->left_out);
	return true;
}

bool diff_note(const struct runs *runs, size_t i, char *text, size_t room)
{
	static bool (*const notes[])(const struct runs *runs, char *text,
				     size_t room) = {
		note_programs, note_versions, note_running,  note_incomplete,
		note_rebuilt,  note_mixed,    note_left_out,
	};

	for (size_t k = 0; k < ARRAY_SIZE(notes); k++)
		if (notes[k](runs, text, room) && i-- == 0)
			return true;
	return false;
}

void diff_print_notes(const struct runs *runs, FILE *out)
{
	char text[1024];

	for (size_t i = 0; diff_note(runs, i, text, sizeof(text)); i++) {
		fputs("   ", out);
		text_out(text, out);
		fputc('\n', out);
	}
}

/* --- the judgement ------------------------------------------------------- */

struct verdicts {
	size_t changed, unsure;
};

static struct verdicts count_row_verdicts(const struct diff *diff,
					  size_t metric)
{
	struct verdicts out = { 0, 0 };

	for (size_t row = 0; row < runs_row_count(diff->runs); row++) {
		const struct judge_cell *cell =
			judged_cell(&diff->judged, row, metric);

		out.changed += cell->changed;
		out.unsure += cell->may_have_changed;
	}
	return out;
}

static size_t least_runs(const struct runs *runs)
{
	return MIN(runs->first_b, runs->count - runs->first_b);
}

void diff_print_judgement(const struct diff *diff, size_t metric, FILE *out)
{
	const struct judge_metric *how = &diff->judged.metric[metric];
	const char *rows = diff->runs->stacks ? "stack" : "function";
	struct verdicts verdicts = count_row_verdicts(diff, metric);

	if (how->how == JUDGE_NOT)
		fprintf(out, "%s%s: unproven", how->why,
			least_runs(diff->runs) > 1
				? ", and a side has fewer than 3 runs"
				: "");
	else if (!verdicts.changed)
		fputs(how->how == JUDGE_SPREAD
			      ? "no change that can be told from chance"
			      : "no change",
		      out);
	else
		fprintf(out, "%zu change%s (*)", verdicts.changed,
			verdicts.changed == 1 ? "" : "s");
	if (how->how == JUDGE_SPREAD && how->judged)
		fprintf(out,
			"; of %zu large %s%s, only changes above about %.1f %% "
			"could be shown",
			how->judged, rows, how->judged == 1 ? "" : "s",
			100 * how->least);
	else if (how->how == JUDGE_SPREAD)
		fprintf(out, "; no %s is large enough to be judged", rows);
	if (verdicts.unsure)
		fprintf(out,
			"; %zu may have changed (?): record more runs, the two "
			"sides in turns",
			verdicts.unsure);
}

/* --- the table ----------------------------------------------------------- */

struct diff_table {
	const struct diff *diff;
	const struct diff_options *options;
	size_t metric;
	size_t *rows;
	size_t count, changed, shown;
};

/* Returns "+0.1 %", or "" without a value to compare with. */
static const char *percent(const struct judge_cell *cell, char text[32])
{
	double share = cell->a > 0 ? 100 * (cell->b - cell->a) / cell->a : 0;

	text[0] = '\0';
	if (cell->a > 0)
		snprintf(text, 32, fabs(share) < 1000 ? "%+.1f" : "%+.0f",
			 share);
	return text;
}

static int print_diff_rows(const struct diff_table *table, FILE *out)
{
	static const struct table_column columns[] = {
		{ "", 1, true, 0 },    { "A", 10, false, 0 },
		{ "B", 10, false, 0 }, { "change", 10, false, 2 },
		{ "%", 6, false, 1 },  { "+-%", 5, false, 3 },
	};
	const struct runs *runs = table->diff->runs;
	struct terminal terminal = terminal_of(out);
	struct table rows;
	int err;

	if (!table->shown)
		return 0;
	table_init(&rows, columns, ARRAY_SIZE(columns) - (runs->count == 2),
		   runs->stacks ? "stack" : "function");
	rows.full_names = table->options->full_names;
	for (size_t i = 0; i < table->shown; i++) {
		const struct runs_metric *metric = &runs->metric[table->metric];
		const struct judge_cell *cell = judged_cell(
			&table->diff->judged, table->rows[i], table->metric);
		char a[ROW_VALUE_TEXT], b[ROW_VALUE_TEXT], by[ROW_VALUE_TEXT];
		char share[32], spread[16];
		const char *const cells[] = {
			cell->changed		 ? "*"
			: cell->may_have_changed ? "?"
						 : "",
			row_value(metric, cell->a, false, a),
			row_value(metric, cell->b, false, b),
			row_value(metric, cell->b - cell->a, true, by),
			percent(cell, share),
			spread,
		};

		snprintf(spread, sizeof(spread), "%.1f",
			 100 * judge_half_range(cell));
		row_add(runs, table->rows[i], cells, &rows);
	}
	err = table_print(&rows, &terminal, out);
	table_release(&rows);
	if (table->shown < table->count)
		fprintf(out, "  and %zu more that differ (--limit 0)\n",
			table->count - table->shown);
	return err;
}

/* Exact totals repeat the self values of functions. Metrics without a title are
 * shown if they changed. */
static bool is_metric_shown(const struct diff_table *table)
{
	const struct diff *diff = table->diff;
	const struct runs_metric *metric = &diff->runs->metric[table->metric];

	if (metric->total)
		return table->changed &&
		       diff->judged.metric[table->metric].how == JUDGE_SPREAD;
	return table->changed || (table->count && metric->main);
}

static int print_metric(struct diff_table *table, FILE *out)
{
	const struct diff *diff = table->diff;
	const struct runs_metric *metric = &diff->runs->metric[table->metric];
	size_t limit = table->options->limit;

	table->changed = count_row_verdicts(diff, table->metric).changed;
	if (!is_metric_shown(table))
		return 0;
	table->shown = limit ? MIN(limit, table->count) : table->count;
	fprintf(out, "\n%s: ", metric->title);
	diff_print_judgement(diff, table->metric, out);
	fputc('\n', out);
	return print_diff_rows(table, out);
}

/* --- the head ------------------------------------------------------------ */

static void print_side(const struct runs *runs, bool side_b, FILE *out)
{
	size_t from = side_b ? runs->first_b : 0;
	size_t to = side_b ? runs->count : runs->first_b;
	const char *const *word = runs->list[from].summary->command;

	fprintf(out, "%s  ", side_b ? "B" : "A");
	text_out(runs->list[from].dir, out);
	if (to - from > 1) {
		fprintf(out, " and %zu more", to - from - 1);
	}
	fputs("  (", out);
	for (size_t i = 0; word[i]; i++) {
		fputs(i ? " " : "", out);
		text_out(word[i], out);
	}
	fputs(")\n", out);
}

static double median_wall(const struct runs *runs, bool side_b)
{
	size_t from = side_b ? runs->first_b : 0;
	size_t count = side_b ? runs->count - runs->first_b : runs->first_b;
	double *times = calloc(count + 1, sizeof(*times)), median;

	for (size_t i = 0; times && i < count; i++)
		times[i] = (double)runs->list[from + i].summary->wall_ns;
	median = times ? spread_median(times, count) : 0;
	free(times);
	return median;
}

/* Prints the metrics that are equal on both sides. */
static void print_same(const struct diff *diff, FILE *out)
{
	const struct runs *runs = diff->runs;
	const char *before = "\nthe same: ";

	for (size_t m = 0; m < runs->metric_count; m++) {
		bool differs = false;

		for (size_t row = 0; row < runs_row_count(runs); row++) {
			const struct judge_cell *cell =
				judged_cell(&diff->judged, row, m);

			differs |= cell->a != cell->b;
		}
		if (differs || runs->metric[m].total || !runs->metric[m].main)
			continue;
		fprintf(out, "%s%s", before, runs->metric[m].title);
		before = ", ";
	}
	if (before[0] == ',')
		fputc('\n', out);
}

int diff_print(const struct diff *diff, const struct diff_options *options,
	       FILE *out)
{
	struct diff_table table = { .diff = diff, .options = options };
	int err = 0;
	double a, b;
	char before[SIZE_TEXT], after[SIZE_TEXT];

	print_side(diff->runs, false, out);
	print_side(diff->runs, true, out);
	a = median_wall(diff->runs, false);
	b = median_wall(diff->runs, true);
	fprintf(out, "   wall time of the run: %s -> %s",
		size_format_ns((uint64_t)a, before),
		size_format_ns((uint64_t)b, after));
	if (a > 0)
		fprintf(out, " (%+.1f %%)", 100 * (b - a) / a);
	fputc('\n', out);
	diff_print_notes(diff->runs, out);
	if (least_runs(diff->runs) < JUDGE_RUNS)
		fprintf(out,
			"   to prove changes, record %d of each, in turns: "
			"perfrec diff A1 A2 A3 -- B1 B2 B3\n",
			JUDGE_RUNS);
	for (; table.metric < diff->runs->metric_count && !err;
	     table.metric++) {
		table.rows = diff_rows(diff, table.metric, &table.count);
		if (!table.rows)
			return -ENOMEM;
		err = print_metric(&table, out);
		free(table.rows);
	}
	print_same(diff, out);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}
