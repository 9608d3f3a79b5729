/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/range_counters.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/read/thread_choice.h"
#include "collector/show/table.h"
#include "shared/compiler.h"

static const char *counter_text(const struct range_counters *counters,
				uint32_t number)
{
	return trace_reader_text(counters->curves->reader, number);
}

/* --- rows ---------------------------------------------------------------- */

static bool is_nan(const struct curve *curve, union curve_value value)
{
	return curve->is_double && isnan(value.real);
}

static bool is_less(const struct curve *curve, union curve_value a,
		    union curve_value b)
{
	return curve->is_double ? a.real < b.real : a.whole < b.whole;
}

static void take_value_before(struct counter_row *row)
{
	const struct curve *curve = row->curve;
	union curve_value before = curve->before;

	if (!curve->count)
		row->min = row->max = row->last = before;
	if (is_nan(curve, before))
		return;
	if (is_nan(curve, row->min) || is_less(curve, before, row->min))
		row->min = before;
	if (is_nan(curve, row->max) || is_less(curve, row->max, before))
		row->max = before;
}

static struct counter_row counter_row_of(const struct range_counters *counters,
					 const struct curve *curve)
{
	const struct trace_track *track = curve->track, *parent = NULL;
	struct counter_row row = { curve, "?",	 "",	NULL, NULL,
				   "",	  { 0 }, { 0 }, { 0 } };

	if (track) {
		row.name = counter_text(counters, track->name);
		row.unit = counter_text(counters, track->unit);
		parent = trace_reader_find_track(counters->curves->reader,
						 track->parent);
	}
	if (parent && parent->kind == TRACE_TRACK_THREAD) {
		row.thread = parent;
		row.process = parent->process;
		row.owner = counter_text(counters, parent->name);
	} else if (parent && parent->kind == TRACE_TRACK_PROCESS) {
		row.process = parent;
		row.owner = counter_text(counters, parent->name);
	}
	if (curve->count) {
		row.min = curve->points[0].min;
		row.max = curve->points[0].max;
		row.last = curve->points[curve->count - 1].last;
	}
	if (curve->has_before)
		take_value_before(&row);
	return row;
}

static bool is_counter_chosen(const struct range_counters *counters,
			      const struct counter_row *row)
{
	struct thread_choice choice = { 0 };

	if (!counters->thread)
		return true;
	return row->thread &&
	       thread_choice_has(&choice, counters->curves->reader,
				 counters->thread, row->thread, false);
}

static int64_t id_of(const struct counter_row *row)
{
	if (row->thread)
		return row->thread->tid;
	return row->process ? row->process->pid : 0;
}

static int compare_counter_rows(const void *a, const void *b)
{
	const struct counter_row *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	if (id_of(x) != id_of(y))
		return id_of(x) < id_of(y) ? -1 : 1;
	return x->curve->uuid < y->curve->uuid
		       ? -1
		       : x->curve->uuid > y->curve->uuid;
}

struct counter_row *range_counters_rows(const struct range_counters *counters,
					size_t *count)
{
	const struct curves *curves = counters->curves;
	uint32_t all = curves ? curves->count : 0;
	struct counter_row *rows = calloc(all + 1ULL, sizeof(*rows));

	*count = 0;
	for (uint32_t i = 0; rows && i < all; i++) {
		struct counter_row row =
			counter_row_of(counters, &curves->list[i]);

		if (is_counter_chosen(counters, &row))
			rows[(*count)++] = row;
	}
	if (rows)
		qsort(rows, *count, sizeof(*rows), compare_counter_rows);
	return rows;
}

/* --- for a person -------------------------------------------------------- */

#define VALUE_TEXT (SIZE_TEXT + 1)

static const char *counter_value_text(const struct counter_row *row,
				      union curve_value value,
				      char text[VALUE_TEXT])
{
	bool negative = value.whole < 0;
	uint64_t size =
		negative ? 0 - (uint64_t)value.whole : (uint64_t)value.whole;

	if (row->curve->is_double) {
		snprintf(text, VALUE_TEXT, "%.6g", value.real);
		return text;
	}
	text[0] = '-';
	if (strcmp(row->unit, "bytes") == 0)
		size_format_bytes(size, text + negative);
	else if (strcmp(row->unit, "ns") == 0)
		size_format_ns(size, text + negative);
	else
		size_format_count(size, text + negative);
	return text;
}

static const struct table_column columns[] = {
	{ "at begin", 11, false, 0 },
	{ "least", 11, false, 1 },
	{ "greatest", 11, false, 0 },
	{ "at end", 11, false, 0 },
};

int range_counters_print(const struct range_counters *counters,
			 const struct terminal *terminal, FILE *out)
{
	size_t count, shown;
	struct counter_row *rows = range_counters_rows(counters, &count);
	struct table table;
	int err = 0;

	if (!rows)
		return -ENOMEM;
	shown = counters->limit ? MIN(count, counters->limit) : count;
	table_init(&table, columns, ARRAY_SIZE(columns), "counter");
	table.full_names = true;
	for (size_t i = 0; i < shown; i++) {
		const struct counter_row *row = &rows[i];
		char before[VALUE_TEXT] = "-", min[VALUE_TEXT], max[VALUE_TEXT];
		char last[VALUE_TEXT];
		char text[256], unit[64] = "";

		if (row->curve->has_before)
			counter_value_text(row, row->curve->before, before);
		table_add(&table,
			  (const char *[]){
				  before,
				  counter_value_text(row, row->min, min),
				  counter_value_text(row, row->max, max),
				  counter_value_text(row, row->last, last) },
			  row->name, NULL);
		if (*row->unit)
			snprintf(unit, sizeof(unit), "%s", row->unit);
		if (!row->thread && !row->process) {
			if (*unit) {
				snprintf(text, sizeof(text), "  %s", unit);
				table_behind(&table, text);
			}
		} else {
			snprintf(text, sizeof(text),
				 "  %s%s%s %" PRId64 " %.100s", unit,
				 *unit ? ", " : "",
				 row->thread ? "thread" : "process", id_of(row),
				 row->owner);
			table_behind(&table, text);
		}
	}
	if (shown) {
		fputc('\n', out);
		err = terminal ? table_print(&table, terminal, out)
			       : table_print_markdown(&table, out);
	}
	if (shown < count && terminal)
		fprintf(out, "  (%zu of %zu counters; all: --limit 0)\n", shown,
			count);
	table_release(&table);
	free(rows);
	return err;
}
