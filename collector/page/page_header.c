/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/page/page_header.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/compare/diff.h"
#include "collector/page/page_judge.h"
#include "collector/page/page_states.h"
#include "collector/page/page_time.h"
#include "collector/page/page_tree.h"
#include "collector/read/summary_read.h"
#include "collector/show/summary_losses.h"
#include "collector/show/summary_trust.h"
#include "shared/compiler.h"

#define PATH_SHOWN 100 /* functions, and hand-overs */
#define LOCKS_SHOWN 100 /* and functions, with the most blocked time */

static json_t *page_number_json(uint64_t value)
{
	return json_integer((json_int_t)MIN(value, PAGE_NUMBER_MAX));
}

static json_t *lines_json(const struct summary *summary,
			  void (*print)(const struct summary *summary,
					FILE *out))
{
	json_t *list = json_array();
	char *text = NULL, *rest;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return list;
	print(summary, out);
	fclose(out);
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		line += strspn(line, " ");
		if (*line)
			json_array_append_new(list, json_text(line));
	}
	free(text);
	return list;
}

static void print_page_losses(const struct summary *summary, FILE *out)
{
	summary_losses_print(summary, "", out);
	summary_losses_print_went_on(summary, "", out);
}

static void add_page_note(json_t *list, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void add_page_note(json_t *list, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	json_array_append_new(list, json_text(text));
}

static void add_trace_notes(const struct calls *calls, json_t *list)
{
	const struct trace_read_totals *totals = &calls->tree.totals;

	if (calls->tree.err)
		add_page_note(
			list,
			"The trace is damaged after %llu of %llu bytes: what "
			"comes later has no time.",
			(unsigned long long)totals->at,
			(unsigned long long)totals->size);
	else if (totals->cut)
		add_page_note(list,
			      "The trace is cut off: its end is missing.");
	if (totals->bad_bundles || totals->bad_events)
		add_page_note(list,
			      "Parts of the trace cannot be read, and are left "
			      "out: %llu bundles, %llu events.",
			      (unsigned long long)totals->bad_bundles,
			      (unsigned long long)totals->bad_events);
	if (calls->tree.folded || calls->cells.refused)
		add_page_note(list,
			      "The trace has more different stacks than fit: "
			      "some have no time.");
	if (calls->timeline.refused)
		add_page_note(
			list,
			"The timeline is without %llu calls, of deep stacks "
			"or of too many threads.",
			(unsigned long long)calls->timeline.refused);
	if (calls->by_index)
		add_page_note(
			list,
			"This is a large recording: the page is made by the "
			"index of its trace, and is without the times of CPU "
			"samples%s.",
			calls->no_counters ? ", and without counters" : "");
	if (calls->summed)
		add_page_note(
			list,
			"Calls are spread evenly over short stretches of "
			"time. The page of a range (perfrec report --html FILE "
			"--from TIME --until TIME) has a finer timeline, if it "
			"has fewer than some millions of calls.");
	if (calls->beyond)
		add_page_note(
			list,
			"The timeline is without %llu calls that are too deep "
			"for the index.",
			(unsigned long long)calls->beyond);
	if (calls->curves_refused)
		add_page_note(
			list,
			"%llu values of counters are not in the overview: "
			"they are below 0, have a fraction, or belong to one "
			"counter too many. The trace has them.",
			(unsigned long long)calls->curves_refused);
	if (calls->instants_refused)
		add_page_note(list,
			      "%llu instants are not in the page; the trace "
			      "has them.",
			      (unsigned long long)calls->instants_refused);
	if (calls->in_use_count > 1)
		add_page_note(list,
			      "The memory over time is that of the process "
			      "that used most.");
}

static json_t *page_notes_json(const struct page_data *data,
			       const struct summary *summary, bool compares)
{
	json_t *list = lines_json(summary, summary_losses_print_odd);

	for (const char **note = summary->notes; note && *note; note++)
		json_array_append_new(list, json_text(*note));
	if (data->calls)
		add_trace_notes(data->calls, list);
	else if (!compares)
		add_page_note(list,
			      "There is no trace: the page knows how much, "
			      "but not when.");
	if (data->locks.sums.rows.count && !data->locks.has_stacks)
		add_page_note(list,
			      "This is a large recording, so the page does not "
			      "say for whom each function waited (perfrec "
			      "report --view lock --stacks).");
	if (data->by_name_alone)
		add_page_note(list,
			      "The programs or their libraries have different "
			      "names: %u functions are compared by their name "
			      "alone, whatever their module.",
			      data->by_name_alone);
	if (data->short_of_memory)
		add_page_note(list,
			      "The recording is too large for the page: some "
			      "functions or stacks are missing.");
	return list;
}

static json_t *page_summary_json(const struct summary *summary)
{
	json_t *copy = json_copy(summary->document);

	json_object_del(copy, "functions");
	return copy;
}

/* @calls: of the trace of a page, whose damage the summary does not know; may be
 * NULL. */
static json_t *trust_json(const struct summary *summary,
			  const struct calls *calls)
{
	json_t *doubts = json_array();
	struct trust trust;
	char good[128];

	summary_trust_judge(summary, &trust);
	summary_trust_good_text(summary, good, sizeof(good));
	if (calls && (calls->tree.err || calls->tree.totals.cut)) {
		trust.level = TRUST_POOR;
		json_array_append_new(
			doubts,
			json_pack("{s:s, s:s, s:s}", "level",
				  trust_level_names[TRUST_POOR], "values", "",
				  "text",
				  "a part of the trace is missing, so threads, "
				  "single calls and ranges are incomplete"));
	}
	for (size_t i = 0; i < trust.count; i++) {
		const struct trust_doubt *doubt = &trust.doubts[i];

		json_array_append_new(
			doubts, json_pack("{s:s, s:s, s:s, s:s*}", "level",
					  trust_level_names[doubt->level],
					  "values", doubt->values, "text",
					  doubt->text, "next", doubt->next));
	}
	return json_pack("{s:s, s:s, s:o}", "level",
			 trust_level_names[trust.level], "good", good, "doubts",
			 doubts);
}

static json_t *columns_json(const struct page_columns *columns)
{
	json_t *list = json_array();

	for (size_t i = 0; i < columns->count; i++) {
		const struct page_column *column = &columns->column[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:o, s:o}", "name", column->name,
				  "type", column->type, "count",
				  page_number_json(column->count), "bytes",
				  page_number_json(column->bytes)));
	}
	return list;
}

static json_t *page_values_json(const struct page_data *data,
				const struct diff *diff)
{
	json_t *list = json_array();

	for (int key = 0; key < PAGE_KEYS; key++) {
		const struct page_value *value = &data->value[key];
		const struct page_key_text *text = &page_keys[key];
		bool timed = page_tree_is_timed(data, (enum page_key)key);
		bool sampled = data->sampled &&
			       (key == PAGE_WALL ||
				(key >= PAGE_ON_CPU && key <= PAGE_BLOCKED));
		json_t *object;
		char *judged;

		if (!value->known)
			continue;
		object = json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:o}",
				   "key", text->key, "title", text->title,
				   "unit", text->unit, "from",
				   sampled ? "samples" : text->from, "timed",
				   timed, "by_thread", timed, "estimated",
				   value->estimated, "sum",
				   page_number_json(value->sum[PAGE_SELF]));
		if (data->compares)
			json_object_set_new(
				object, "base_sum",
				page_number_json(value->sum[PAGE_BASE]));
		judged =
			diff ? page_judge_text(diff, (enum page_key)key) : NULL;
		if (judged)
			json_object_set_new(object, "judged",
					    json_text(judged));
		free(judged);
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *page_time_json(const struct page_data *data,
			      const struct page_part *part)
{
	uint64_t first = page_data_first_ns(data);
	uint64_t last = data->calls->tree.totals.last_ns;

	if (part)
		last = MIN(part->range.to_ns, part->bounds.last_ns);
	return json_pack("{s:I, s:I}", "first_ns",
			 (json_int_t)(first - data->origin_ns), "last_ns",
			 (json_int_t)(MAX(last, first) - data->origin_ns));
}

/* Returns "19.01s to 19.06s", suitable for options. */
static json_t *range_json(const struct page_part *part)
{
	uint64_t first = part->bounds.first_ns, from, to;
	char begin[TIME_RANGE_TEXT], end[TIME_RANGE_TEXT];

	from = MAX(part->range.from_ns, first) - first;
	to = MIN(part->range.to_ns, part->bounds.last_ns) - first;
	return json_sprintf("%s to %s", time_range_text(from, begin),
			    time_range_text(to, end));
}

/* The curve and the peak belong to the shown process. For the process with the
 * largest peak the summary is better: the curve has only occasional values or
 * noisy samples. */
static void add_heap(const struct page_data *data,
		     const struct page_options *options,
		     const struct summary *summary, json_t *header)
{
	const struct calls_curve *curve = data->calls->curve, *resident;
	const struct summary_totals *totals = &summary->totals;
	const struct trace_track *process;
	bool whole;
	uint64_t ns, bytes, error = 0;

	if (!curve)
		return;
	process = trace_reader_find_track(data->calls->tree.reader,
					  curve->track->parent);
	whole = !options->part && totals->peak_bytes && process &&
		process->pid == totals->peak_pid;
	ns = whole && totals->peak_ns ? totals->peak_ns : curve->peak.ns;
	bytes = whole ? totals->peak_bytes : curve->peak.value;
	if (whole)
		error = totals->peak_error_bytes;
	resident = page_time_curve_beside(data->calls, "RSS");
	json_object_set_new(
		header, "heap",
		json_pack("{s:I, s:o, s:o, s:o, s:o}", "peak_ns",
			  (json_int_t)(ns - data->origin_ns), "peak_bytes",
			  page_number_json(bytes), "peak_error_bytes",
			  page_number_json(error), "resident_bytes",
			  page_number_json(resident ? resident->peak.value : 0),
			  "pid",
			  page_number_json(process ? (uint64_t)process->pid
						   : 0)));
}

static void add_level(json_t *list, int number, const struct timeline *timeline)
{
	json_array_append_new(
		list,
		json_pack("{s:i, s:o}", "level", number, "width_ns",
			  page_number_json(1ULL
					   << timeline->level[number].shift)));
}

static void add_header_time(const struct page_data *data,
			    const struct page_part *part, json_t *header)
{
	const struct calls *calls = data->calls;
	const struct time_cells *cells = &calls->cells;
	const struct time_cells *bars = &calls->slowest.bars;
	uint64_t first = data->origin_ns;
	json_t *levels = json_array(), *waits = json_array();
	const struct page_heat heat = page_states_heat(data);

	json_object_set_new(
		header, "buckets",
		json_pack("{s:I, s:I, s:I}", "count",
			  (json_int_t)time_cells_buckets(cells), "first_ns",
			  (json_int_t)(time_cells_begin(cells, 0) - first),
			  "width_ns", (json_int_t)(1ULL << cells->shift)));
	json_object_set_new(header, "time", page_time_json(data, part));
	json_object_set_new(
		header, "heat",
		json_pack("{s:I, s:I, s:I, s:b}", "count",
			  (json_int_t)time_cells_buckets(bars), "first_ns",
			  (json_int_t)(time_cells_begin(bars, 0) - first),
			  "width_ns", (json_int_t)(1ULL << bars->shift),
			  "exact", !calls->summed));
	for (int i = 0; i < TIMELINE_LEVELS; i++) {
		add_level(levels, i, &calls->timeline);
		add_level(waits, i, &calls->waits);
	}
	json_object_set_new(header, "timeline", levels);
	json_object_set_new(header, "waits", waits);
	if (heat.count)
		json_object_set_new(
			header, "cpu_heat",
			json_pack("{s:I, s:o}", "first_ns",
				  (json_int_t)(heat.first_ns - first),
				  "width_ns", page_number_json(heat.width_ns)));
}

static const char *unit_of_curve(const struct calls *calls,
				 const struct calls_curve *curve)
{
	const char *unit =
		trace_reader_text(calls->tree.reader, curve->track->unit);

	return strcmp(unit, "ns") == 0	    ? "nanoseconds"
	       : strcmp(unit, "bytes") == 0 ? "bytes"
					    : "count";
}

static json_t *header_counters_json(const struct calls *calls)
{
	json_t *list = json_array();
	char key[32];

	for (uint32_t i = 0; i < calls->curve_count; i++) {
		const struct calls_curve *curve = calls->curves[i];

		if (!page_time_is_counter(calls, i))
			continue;
		snprintf(key, sizeof(key), "counter.%u", i);
		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:s}", "key", key, "title",
				  json_text(calls_curve_name(calls, curve)),
				  "unit", unit_of_curve(calls, curve)));
	}
	return list;
}

static json_t *page_folder_json(const char *dir)
{
	char *path = realpath(dir, NULL);
	const char *name = path ? path : dir;
	const char *slash = strrchr(name, '/');
	json_t *text = json_text(slash && slash[1] ? slash + 1 : name);

	free(path);
	return text;
}

static json_t *page_side_json(const char *dir, const struct summary *summary,
			      size_t runs)
{
	return json_pack("{s:o, s:o, s:o, s:I}", "name", page_folder_json(dir),
			 "summary", page_summary_json(summary), "trust",
			 trust_json(summary, NULL), "runs", (json_int_t)runs);
}

char *page_header_make(const struct page_data *data,
		       const struct page_columns *columns,
		       const struct page_options *options,
		       const struct summary *summary,
		       const struct summary *base)
{
	json_t *header = json_pack(
		"{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}",
		"version", 1, "made_by", "perfrec " PERFREC_VERSION, "title",
		page_folder_json(options->dir), "summary",
		page_summary_json(summary), "trust",
		trust_json(summary, data->calls), "columns",
		columns_json(columns), "values",
		page_values_json(data, options->diff), "losses",
		lines_json(summary, print_page_losses), "notes",
		page_notes_json(data, summary, base), "paths", true, "source",
		!options->no_source && data->lines.count);
	const struct runs *runs = options->diff ? options->diff->runs : NULL;
	size_t runs_a = runs ? runs->first_b : 1;
	size_t runs_b = runs ? runs->count - runs->first_b : 1;
	char *text;

	if (data->calls) {
		add_header_time(data, options->part, header);
		add_heap(data, options, summary, header);
		json_object_set_new(header, "counters",
				    header_counters_json(data->calls));
	}
	if (data->locks.sums.rows.count || data->locks.has_stacks)
		json_object_set_new(header, "locks",
				    lock_list_json(&data->locks, LOCKS_SHOWN));
	if (data->path.path)
		json_object_set_new(
			header, "path",
			path_list_json(&data->path, PATH_SHOWN, PATH_SHOWN));
	if (options->part) {
		uint64_t first = options->part->bounds.first_ns;
		json_t *object = json_pack(
			"{s:o}", "whole_ns",
			page_number_json(options->part->bounds.last_ns -
					 first));

		if (options->part->thread)
			json_object_set_new(object, "thread",
					    json_text(options->part->thread));
		if (options->part->range.from_ns ||
		    options->part->range.to_ns != UINT64_MAX)
			json_object_set_new(object, "range",
					    range_json(options->part));
		json_object_set_new(header, "part", object);
	}
	if (base)
		json_object_set_new(
			header, "diff",
			json_pack(
				"{s:o, s:o}", "a",
				page_side_json(options->base, base, runs_a),
				"b",
				page_side_json(options->dir, summary, runs_b)));
	text = json_dumps(header, JSON_COMPACT);
	json_decref(header);
	return text;
}
