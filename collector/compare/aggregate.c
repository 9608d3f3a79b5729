/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/compare/aggregate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "collector/base/text_out.h"
#include "collector/compare/diff.h"
#include "collector/compare/row_text.h"
#include "collector/compare/spread.h"
#include "shared/compiler.h"

struct aggregate aggregate_row(const struct runs *runs, size_t row,
			       size_t metric, double *scratch)
{
	struct aggregate out = { 0 };
	double mean = 0, squares = 0, count = (double)runs->count;

	for (size_t i = 0; i < runs->count; i++) {
		scratch[i] = (double)runs_value(runs, row, metric, i);
		mean += scratch[i] / count;
	}
	for (size_t i = 0; i < runs->count; i++)
		squares += (scratch[i] - mean) * (scratch[i] - mean);
	out.deviation = count > 1 ? sqrt(squares / (count - 1)) : 0;
	out.median = spread_median(scratch, runs->count);
	out.min = scratch[0];
	out.max = scratch[runs->count - 1];
	out.mad = spread_mad(scratch, runs->count, out.median);
	return out;
}

/* --- order --------------------------------------------------------------- */

struct sized_row {
	size_t row;
	double median, max;
};

static int compare_sized(const void *left, const void *right)
{
	const struct sized_row *a = left, *b = right;

	if (a->median != b->median)
		return a->median > b->median ? -1 : 1;
	if (a->max != b->max)
		return a->max > b->max ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static size_t fill_sized(const struct runs *runs, size_t metric,
			 struct sized_row *list, double *scratch)
{
	size_t count = 0;

	for (size_t row = 0; row < runs_row_count(runs); row++) {
		struct aggregate one =
			aggregate_row(runs, row, metric, scratch);

		if (one.max > 0 || one.min < 0)
			list[count++] =
				(struct sized_row){ row, one.median, one.max };
	}
	qsort(list, count, sizeof(*list), compare_sized);
	return count;
}

size_t *aggregate_rows(const struct runs *runs, size_t metric, size_t *count)
{
	size_t rows = runs_row_count(runs);
	struct sized_row *list = calloc(rows + 1, sizeof(*list));
	double *scratch = calloc(runs->count + 1, sizeof(*scratch));
	size_t *out = calloc(rows + 1, sizeof(*out));

	*count = 0;
	if (list && scratch && out) {
		*count = fill_sized(runs, metric, list, scratch);
		for (size_t i = 0; i < *count; i++)
			out[i] = list[i].row;
	} else {
		free(out);
		out = NULL;
	}
	free(list);
	free(scratch);
	return out;
}

/* --- the table ----------------------------------------------------------- */

int aggregate_print(const struct runs *runs,
		    const struct aggregate_options *options, FILE *out)
{
	size_t count;
	size_t *rows = aggregate_rows(runs, options->metric, &count);
	double *scratch = calloc(runs->count + 1, sizeof(*scratch));
	int err = -ENOMEM;

	if (rows && scratch) {
		static const struct table_column columns[] = {
			{ "min", 10, false, 3 }, { "median", 10, false, 0 },
			{ "max", 10, false, 2 }, { "deviation", 10, false, 4 },
			{ "MAD", 10, false, 5 }, { "dev %", 5, false, 1 },
		};
		size_t shown =
			options->limit ? MIN(options->limit, count) : count;
		struct terminal terminal = terminal_of(out);
		struct table table;

		text_out(runs->list[0].dir, out);
		if (runs->count > 1)
			fprintf(out, " and %zu more recording%s",
				runs->count - 1, runs->count == 2 ? "" : "s");
		fprintf(out, ": %s\n", runs->metric[options->metric].title);
		diff_print_notes(runs, out);
		fputc('\n', out);
		table_init(&table, columns, ARRAY_SIZE(columns), "function");
		table.full_names = options->full_names;
		for (size_t i = 0; i < shown; i++) {
			const struct aggregate one = aggregate_row(
				runs, rows[i], options->metric, scratch);
			const double values[] = { one.min, one.median, one.max,
						  one.deviation, one.mad };
			char text[ARRAY_SIZE(values)][ROW_VALUE_TEXT],
				share[32];
			const char *cells[ARRAY_SIZE(values) + 1];

			for (size_t j = 0; j < ARRAY_SIZE(values); j++)
				cells[j] = row_value(
					&runs->metric[options->metric],
					values[j], false, text[j]);
			snprintf(share, sizeof(share), "%.1f",
				 one.median > 0
					 ? 100 * one.deviation / one.median
					 : 0);
			cells[ARRAY_SIZE(values)] = share;
			row_add(runs, rows[i], cells, &table);
		}
		err = table_print(&table, &terminal, out);
		table_release(&table);
		if (shown < count)
			fprintf(out, "  and %zu more (--limit 0)\n",
				count - shown);
	}
	free(rows);
	free(scratch);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}
