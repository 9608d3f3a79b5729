/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/range_report.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "collector/base/json_text.h"
#include "collector/names/name_fold.h"
#include "shared/compiler.h"

static json_t *range_row_json(const struct range_row *row)
{
	const struct sums_function *function = row->function;
	char text[NAME_FOLD_BYTES];

	name_fold(row->name, text);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			 json_text(row->name), "short", json_text(text),
			 "calls", json_number(function->calls), "self_ns",
			 json_number(function->self_ns), "total_ns",
			 json_number(function->total_ns), "max_ns",
			 json_number(function->longest_ns));
}

static json_t *range_totals_json(const struct trace_sums *sums)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "calls", json_number(sums->spans), "threads",
			 json_number(sums->tree.thread_count - 1), "processes",
			 json_number(sums->processes), "open_at_from",
			 json_number(sums->open_before), "open_at_to",
			 json_number(sums->open_after), "lost_spans",
			 json_number(sums->lost), "paused_spans",
			 json_number(sums->paused), "waits",
			 json_number(sums->waits), "wait_ns",
			 json_number(sums->wait_ns), "left_out",
			 json_number(sums->tree.folded));
}

/* JSON has neither NaN nor infinities. */
static json_t *curve_value_json(const struct curve *curve,
				union curve_value value)
{
	if (!curve->is_double)
		return json_integer((json_int_t)value.whole);
	return isfinite(value.real) ? json_real(value.real) : json_null();
}

static json_t *counter_json(const struct range_report *report,
			    const struct counter_row *row)
{
	const struct curve *curve = row->curve;
	uint64_t last_ns = curve->count
				   ? curve->points[curve->count - 1].last_ns
				   : curve->before_ns;

	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
		json_text(row->name), "unit", json_text(row->unit), "pid",
		row->process ? json_integer(row->process->pid) : json_null(),
		"tid",
		row->thread ? json_integer(row->thread->tid) : json_null(),
		"at_from",
		curve->has_before ? curve_value_json(curve, curve->before)
				  : json_null(),
		"min", curve_value_json(curve, row->min), "max",
		curve_value_json(curve, row->max), "at_to",
		curve_value_json(curve, row->last), "set_ns",
		json_integer((json_int_t)(last_ns - report->bounds.first_ns)));
}

static json_t *range_counters_json(const struct range_report *report)
{
	const struct range_counters counters = range_report_counters(report);
	size_t count;
	struct counter_row *rows = range_counters_rows(&counters, &count);
	json_t *list = rows ? json_array() : NULL;

	if (report->limit)
		count = MIN(count, report->limit);
	for (size_t i = 0; list && i < count; i++)
		json_array_append_new(list, counter_json(report, &rows[i]));
	free(rows);
	return list;
}

int range_report_write_json(const struct range_report *report, FILE *out)
{
	struct range_row *rows = range_report_rows(report);
	json_t *list = json_array(), *root = NULL;
	json_t *counters = range_counters_json(report);
	int err;

	for (size_t i = 0; rows && i < range_report_shown(report); i++)
		json_array_append_new(list, range_row_json(&rows[i]));
	if (rows && counters)
		root = json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o?, "
				 "s:o, s:O, s:O}",
				 "version", RANGE_REPORT_VERSION, "view",
				 "range", "time_from", "calls", "from_ns",
				 json_number(range_report_from(report)),
				 "to_ns", json_number(range_report_to(report)),
				 "recording_ns",
				 json_number(report->bounds.last_ns -
					     report->bounds.first_ns),
				 "min_duration_ns",
				 json_number(trace_reader_min_duration(
					 report->sums->tree.reader)),
				 "thread",
				 report->thread ? json_text(report->thread)
						: json_null(),
				 "totals", range_totals_json(report->sums),
				 "functions", list, "counters", counters);
	err = json_text_print(root, out);
	json_decref(list);
	json_decref(counters);
	free(rows);
	return err;
}
