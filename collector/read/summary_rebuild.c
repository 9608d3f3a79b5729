/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_rebuild - makes a document in the order of summary.json, and reads it
 * as a summary. So all views of summaries also show a rebuilt one.
 */
#include "collector/read/summary_rebuild.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/base/bytes.h"
#include "collector/base/histogram.h"
#include "collector/base/json_text.h"
#include "collector/base/size.h"
#include "collector/output/own_files.h"
#include "collector/read/summary_read.h"
#include "collector/read/summary_snapshot.h"
#include "collector/read/trace_sums.h"
#include "shared/compiler.h"

#define NOTE_BYTES 256

static const char *attribute(const struct trace_sums *sums, const char *wanted)
{
	const char *key, *text;
	int64_t number;

	for (uint32_t i = 0;
	     trace_reader_attribute(sums->tree.reader, i, &key, &text, &number);
	     i++)
		if (text && strcmp(key, wanted) == 0)
			return text;
	return "";
}

/* Returns the words of the first process, or the words from perfrec record. The
 * trace separates words by spaces, so a word with a space becomes two. */
static json_t *command_json(const struct trace_sums *sums)
{
	const struct trace_track *process =
		sums->tree.thread_count > 1
			? sums->tree.threads[1].track->process
			: NULL;
	const char *text =
		process ? trace_reader_text(sums->tree.reader, process->command)
			: "";
	json_t *list = json_array();
	char *words, *next, *word;

	if (!text[0])
		text = attribute(sums, "perfrec.command");
	words = strdup(text);
	next = words;
	while (next && (word = strsep(&next, " ")))
		if (word[0])
			json_array_append_new(list, json_text(word));
	free(words);
	return list;
}

static json_t *totals_json(const struct trace_sums *sums)
{
	uint64_t threads = sums->tree.thread_count - 1;

	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"processes", json_number(sums->processes), "threads",
		json_number(threads), "span_processes",
		json_number(sums->processes), "span_threads",
		json_number(threads), "spans", json_number(sums->spans),
		"dropped_spans", json_number(sums->lost), "paused_spans",
		json_number(sums->paused), "waits", json_number(sums->waits),
		"wait_ns", json_number(sums->wait_ns), "trace_bytes",
		json_number(sums->tree.totals.size));
}

static json_t *durations_json(const struct sums_function *one,
			      struct bytes *text)
{
	bytes_clear(text);
	if (!one->durations)
		return json_null();
	histogram_text(one->durations, text);
	bytes_put(text, "", 1);
	return text->failed ? NULL : json_text((const char *)text->at);
}

static json_t *quantile_json(const struct sums_function *one,
			     uint32_t per_mille)
{
	if (!one->durations)
		return json_null();
	return json_number(histogram_quantile(one->durations, per_mille));
}

static json_t *functions_json(const struct trace_sums *sums)
{
	json_t *list = json_array();
	struct bytes text = { 0 };

	for (uint32_t i = 0; i < sums->function_count; i++) {
		const struct sums_function *one = &sums->functions[i];

		json_array_append_new(
			list,
			json_pack(
				"{s:o, s:s, s:o, s:o, s:s, s:o, s:o, s:o, "
				"s:o, s:o, s:o, s:o, s:o}",
				"name",
				json_text(trace_reader_text(sums->tree.reader,
							    one->name)),
				"module", "", "calls", json_number(one->calls),
				"recorded", json_number(one->calls), "state",
				"span", "self_ns", json_number(one->self_ns),
				"total_ns", json_number(one->total_ns),
				"measured_self_ns", json_number(one->self_ns),
				"measured_total_ns", json_number(one->total_ns),
				"median_ns", quantile_json(one, 500), "p99_ns",
				quantile_json(one, 990), "max_ns",
				one->durations
					? json_number(one->durations->max)
					: json_null(),
				"durations", durations_json(one, &text)));
	}
	bytes_release(&text);
	return list;
}

static json_t *files_json(const char *dir)
{
	static const char *const names[] = {
		TRACE_NAME,	     WALL_PROFILE_NAME, CPU_PROFILE_NAME,
		OFFCPU_PROFILE_NAME, HEAP_PROFILE_NAME, HEAP_PEAK_NAME,
		SPAN_PROFILE_NAME,
	};
	json_t *list = json_array();
	char path[PATH_MAX];
	struct stat status;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int length =
			snprintf(path, sizeof(path), "%s/%s", dir, names[i]);

		if (length < (int)sizeof(path) && stat(path, &status) == 0)
			json_array_append_new(
				list,
				json_pack(
					"{s:s, s:o}", "name", names[i], "bytes",
					json_number((uint64_t)status.st_size)));
	}
	return list;
}

/* --- missing data --- */

static void add_note(json_t *notes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void add_note(json_t *notes, const char *format, ...)
{
	char text[NOTE_BYTES];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	json_array_append_new(notes, json_text(text));
}

static void add_count(json_t *notes, const char *form, uint64_t count)
{
	char number[SIZE_TEXT], text[NOTE_BYTES];

	if (!count)
		return;
	snprintf(number, sizeof(number), "%" PRIu64, count);
	size_format_text(form, number, text, sizeof(text));
	add_note(notes, "%s", text);
}

/* Returns the bytes of an incomplete packet at the end; 0 if the trace is
 * damaged before. */
static uint64_t cut_bytes(const struct trace_sums *sums)
{
	return sums->tree.err ? 0 : sums->tree.totals.cut;
}

static void note_end(const struct trace_sums *sums, json_t *notes)
{
	const struct trace_read_totals *totals = &sums->tree.totals;

	add_count(notes,
		  "# {call was|calls were} open where the trace ends: "
		  "{its|their} time is counted up to there.",
		  totals->unfinished);
	add_count(notes,
		  "The trace ends in half a packet: the last {byte|# bytes} "
		  "could not be read.",
		  cut_bytes(sums));
	if (sums->tree.err == -EBADMSG)
		add_note(notes,
			 "The trace is damaged at byte %" PRIu64 " of %" PRIu64
			 ": what follows is not in the figures.",
			 totals->at, totals->size);
	else if (sums->tree.err)
		add_note(notes,
			 "The trace could not be read beyond byte %" PRIu64
			 " of %" PRIu64 ": %s.",
			 totals->at, totals->size, strerror(-sums->tree.err));
	add_count(
		notes,
		"# {part of the trace makes|parts of the trace make} no sense, "
		"and {was|were} left out.",
		totals->bad_bundles + totals->bad_events);
	add_count(
		notes,
		"The trace has more stacks or names than there is memory for: "
		"# {is|are} not in the figures.",
		sums->tree.folded + totals->refused);
}

static void note_short(const struct trace_sums *sums, json_t *notes)
{
	uint64_t min_ns = trace_reader_min_duration(sums->tree.reader);
	char text[SIZE_TEXT];

	if (min_ns)
		add_note(notes,
			 "Calls shorter than %s are missing (--min-duration): "
			 "the trace does not have them, and their time is that "
			 "of their callers.",
			 size_format_ns(min_ns, text));
}

static void note_begin(const char *dir, json_t *notes)
{
	json_t *lines = summary_snapshot_notes(dir);

	if (lines)
		json_array_extend(notes, lines);
	else
		add_note(notes, "This summary was made from the trace: the "
				"collector was killed before it wrote one.");
	json_decref(lines);
}

static json_t *notes_json(const char *dir, const struct trace_sums *sums)
{
	json_t *notes = json_array();

	note_begin(dir, notes);
	add_note(notes, "Unknown: allocations, CPU samples, the exit status, "
			"modules of functions, calls that were only counted or "
			"too deep, and losses that the trace does not show.");
	add_note(notes, "Times are as they were measured: they include "
			"perfrec's own time.");
	note_short(sums, notes);
	note_end(sums, notes);
	return notes;
}

static json_t *rebuilt_json(const struct trace_sums *sums)
{
	const struct trace_read_totals *totals = &sums->tree.totals;

	return json_pack("{s:o, s:o, s:o, s:o, s:b}", "read_bytes",
			 json_number(totals->at), "cut_bytes",
			 json_number(cut_bytes(sums)), "unfinished_spans",
			 json_number(totals->unfinished), "left_out",
			 json_number(totals->bad_bundles + totals->bad_events +
				     totals->refused + sums->tree.folded),
			 "damaged", sums->tree.err != 0);
}

/* --- the document --- */

static json_t *make_document(const char *dir, const struct trace_sums *sums)
{
	const struct trace_read_totals *totals = &sums->tree.totals;
	json_t *root = json_object();

	/* First: own_files.c looks for it there. */
	json_object_set_new(
		root, "perfrec",
		json_pack("{s:o}", "version",
			  json_text(attribute(sums, "perfrec.version"))));
	json_object_set_new(root, "version", json_integer(SUMMARY_VERSION));
	json_object_set_new(root, "rebuilt", rebuilt_json(sums));
	json_object_set_new(root, "command", command_json(sums));
	json_object_set_new(root, "wall_ns",
			    json_number(totals->last_ns - totals->first_ns));
	json_object_set_new(root, "totals", totals_json(sums));
	json_object_set_new(root, "functions", functions_json(sums));
	json_object_set_new(root, "files", files_json(dir));
	json_object_set_new(root, "notes", notes_json(dir, sums));
	return root;
}

int summary_rebuild(const char *dir, const struct trace_sums *sums,
		    struct summary **out)
{
	json_t *document = make_document(dir, sums);

	/* Without memory the document lacks members, and is rejected here. */
	return document ? summary_from_document(document, out) : -ENOMEM;
}

int summary_rebuild_write(const struct summary *summary, FILE *out)
{
	return json_text_write(summary->document, JSON_INDENT(1), out) < 0 ||
			       fputc('\n', out) == EOF || fflush(out)
		       ? -EIO
		       : 0;
}
