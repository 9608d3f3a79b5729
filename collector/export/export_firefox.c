/* SPDX-License-Identifier: Apache-2.0
 *
 * export_firefox - a processed profile of the Firefox Profiler, version 48. A
 * sample is a time span with a constant stack, weighted by its length
 * ("tracing-ms"). So totals are exact, and the stack chart shows each call.
 * Memory has the distinct stacks of a thread; its samples are in a spool. Instants
 * are markers, and categories of annotations are categories.
 *
 * If the trace has switches, a sample also has the on-CPU time of the thread
 * since the previous sample (null: unknown, or the first sample). The graph of
 * a thread then shows its CPU use.
 */
#include "collector/export/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/base/put.h"
#include "collector/export/spool.h"
#include "collector/export/threads.h"
#include "collector/output/gz_stream.h"
#include "shared/compiler.h"

/* Columns of a thread's samples and markers, in the order of the spool. */
enum column {
	COLUMN_STACK,
	COLUMN_TIME,
	COLUMN_WEIGHT,
	COLUMN_CPU,
	MARKER_NAME,
	MARKER_TIME,
	MARKER_CATEGORY,
	COLUMNS
};

/* Numbers of categories; those of annotations follow. */
enum { CATEGORY_OTHER, CATEGORY_CALL, CATEGORY_ANNOTATION };

struct fox_stack {
	uint32_t prefix, function; /* number + 1 of a stack; of a function */
	uint32_t category, unused;
};

struct fox_track {
	const struct trace_track *track; /* NULL: no calls */
	struct pool functions; /* of uint64_t: texts */
	struct pool stacks; /* of struct fox_stack */
	uint32_t *open; /* stacks of the open calls */
	uint32_t depth, room;
	uint64_t ns; /* of the previous event */
	uint64_t first_ns, samples, markers;
	/* On a CPU since the previous sample. */
	uint64_t cpu_ns;
	bool cpu_known;
};

struct fox {
	const struct call_reader *reader;
	const struct trace_reader *trace;
	uint64_t origin_ns;
	struct pool categories; /* of uint64_t: texts */
	struct spool *spool;
	struct fox_track *tracks; /* by track number */
	uint32_t room;
};

static void put_ms(uint64_t ns, FILE *out)
{
	char rest[8];

	put_count(ns / 1000000, out);
	snprintf(rest, sizeof(rest), ".%06u", (unsigned int)(ns % 1000000));
	put_text(rest, out);
}

static struct fox_track *fox_track_of(struct fox *fox,
				      const struct trace_track *shown)
{
	struct fox_track *track =
		grow_array_at(fox->tracks, fox->room, shown->number);

	if (!track || track->track)
		return track;
	track->track = shown;
	/* Also has the names of markers. */
	pool_init(&track->functions, NULL, sizeof(uint64_t), sizeof(uint64_t));
	pool_init(&track->stacks, NULL, sizeof(struct fox_stack),
		  sizeof(struct fox_stack));
	return track;
}

/* --- samples --- */

static FILE *column_stream(const struct fox *fox, const struct fox_track *track,
			   enum column column)
{
	FILE *stream = spool_stream(fox->spool,
				    track->track->number * COLUMNS + column);

	if (stream && (column < MARKER_NAME ? track->samples : track->markers))
		put_char(',', stream);
	return stream;
}

/* Writes the CPU time of the span before the sample, and reads that of its own
 * span, which ends at @ns. */
static void put_cpu(const struct fox *fox, struct fox_track *track, uint64_t ns,
		    FILE *out)
{
	struct trace_sched_sums sums;

	if (track->cpu_known)
		put_count(track->cpu_ns, out);
	else
		put_text("null", out);
	track->cpu_known = call_reader_sched(fox->reader, track->track,
					     fox->origin_ns + track->ns,
					     fox->origin_ns + ns, &sums) &&
			   !sums.unknown;
	track->cpu_ns = track->cpu_known ? sums.on_cpu : 0;
}

/* Writes a sample from the previous event to @ns, relative to the first. */
static int put_sample(struct fox *fox, struct fox_track *track, uint64_t ns)
{
	FILE *stack = column_stream(fox, track, COLUMN_STACK);
	FILE *time = column_stream(fox, track, COLUMN_TIME);
	FILE *weight = column_stream(fox, track, COLUMN_WEIGHT);
	FILE *cpu = column_stream(fox, track, COLUMN_CPU);

	if (!stack || !time || !weight || !cpu)
		return -ENOMEM;
	put_cpu(fox, track, ns, cpu);
	if (track->depth)
		put_count(track->open[track->depth - 1], stack);
	else
		put_text("null", stack);
	put_ms(track->ns, time);
	put_ms(ns - track->ns, weight);
	track->samples++;
	return ferror_unlocked(stack) || ferror_unlocked(time) ||
			       ferror_unlocked(weight) || ferror_unlocked(cpu)
		       ? -EIO
		       : 0;
}

/* Sets *@out to the category of @event, or to @usual. Returns 0 or -ENOMEM. */
static int fox_category(struct fox *fox, const struct trace_event *event,
			uint32_t usual, uint32_t *out)
{
	uint64_t text = event->category;

	*out = usual;
	if (!text)
		return 0;
	if (pool_intern(&fox->categories, &text, out) < 0)
		return -ENOMEM;
	*out += CATEGORY_ANNOTATION;
	return 0;
}

static int put_fox_marker(struct fox *fox, struct fox_track *track,
			  const struct trace_event *event, uint64_t ns)
{
	FILE *name = column_stream(fox, track, MARKER_NAME);
	FILE *time = column_stream(fox, track, MARKER_TIME);
	FILE *category = column_stream(fox, track, MARKER_CATEGORY);
	uint64_t text = event->name;
	uint32_t number, of;

	if (!name || !time || !category ||
	    pool_intern(&track->functions, &text, &number) < 0 ||
	    fox_category(fox, event, CATEGORY_OTHER, &of))
		return -ENOMEM;
	put_count(number, name);
	put_ms(ns, time);
	put_count(of, category);
	track->markers++;
	return ferror_unlocked(name) || ferror_unlocked(time) ||
			       ferror_unlocked(category)
		       ? -EIO
		       : 0;
}

static int take(struct fox *fox, const struct trace_event *event)
{
	struct fox_track *track = fox_track_of(fox, event->track);
	uint64_t ns = event->ns - MIN(event->ns, fox->origin_ns);
	bool first = track && !track->samples && !track->stacks.count;
	int err = 0;

	if (!track)
		return -ENOMEM;
	if (event->kind == TRACE_INSTANT)
		return put_fox_marker(fox, track, event, ns);
	if (first)
		track->first_ns = ns;
	else if (ns > track->ns)
		err = put_sample(fox, track, ns);
	track->ns = ns;
	if (err)
		return err;
	if (event->kind == TRACE_BEGIN) {
		struct fox_stack stack = {
			.prefix = track->depth
					  ? track->open[track->depth - 1] + 1
					  : 0
		};
		uint64_t text = event->name;
		uint32_t number;

		if (fox_category(fox, event, CATEGORY_CALL, &stack.category) ||
		    pool_intern(&track->functions, &text, &stack.function) <
			    0 ||
		    pool_intern(&track->stacks, &stack, &number) < 0 ||
		    grow_array(track->open, track->room, track->depth + 1))
			return -ENOMEM;
		track->open[track->depth++] = number;
		return 0;
	}
	track->depth -= track->depth > 0;
	return 0;
}

/* --- tables --- */

/* Puts @value @count times; NULL: the numbers from 0 on. */
static void put_column(const char *name, const char *value, uint32_t count,
		       FILE *out)
{
	put_text(",\"", out);
	put_text(name, out);
	put_text("\":[", out);
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			put_char(',', out);
		if (value)
			put_text(value, out);
		else
			put_count(i, out);
	}
	put_char(']', out);
}

static void put_table(const char *name, uint64_t length, FILE *out)
{
	put_text(",\n\"", out);
	put_text(name, out);
	put_text("\":{\"length\":", out);
	put_count(length, out);
}

static void put_functions(const struct fox *fox, const struct fox_track *track,
			  FILE *out)
{
	const uint64_t *texts = track->functions.items;
	uint32_t count = track->functions.count;

	put_table("frameTable", count, out);
	put_column("func", NULL, count, out);
	put_column("address", "-1", count, out);
	put_column("inlineDepth", "0", count, out);
	put_column("category", "null", count, out);
	put_column("subcategory", "null", count, out);
	put_column("nativeSymbol", "null", count, out);
	put_column("innerWindowID", "0", count, out);
	put_column("implementation", "null", count, out);
	put_column("line", "null", count, out);
	put_column("column", "null", count, out);
	put_char('}', out);
	put_table("funcTable", count, out);
	put_column("name", NULL, count, out);
	put_column("isJS", "false", count, out);
	put_column("relevantForJS", "false", count, out);
	put_column("resource", "-1", count, out);
	put_column("fileName", "null", count, out);
	put_column("lineNumber", "null", count, out);
	put_column("columnNumber", "null", count, out);
	put_text("},\n\"stringArray\":[", out);
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			put_char(',', out);
		put_json_text(trace_reader_text(fox->trace, (uint32_t)texts[i]),
			      out);
	}
	put_char(']', out);
}

static void put_thread_head(const struct fox *fox,
			    const struct fox_track *track, FILE *out)
{
	int64_t pid = threads_process(fox->trace, track->track).pid;
	const struct trace_track *process = track->track->process;
	char name[THREAD_NAME_BYTES];

	put_text("{\"processType\":\"default\",\"processStartupTime\":0,"
		 "\"processShutdownTime\":null,\"unregisterTime\":null,"
		 "\"pausedRanges\":[],\"registerTime\":",
		 out);
	put_ms(track->first_ns, out);
	put_text(",\"isMainThread\":", out);
	put_text(pid == track->track->tid ? "true" : "false", out);
	fprintf(out, ",\"pid\":\"%" PRId64 "\",\"tid\":%" PRId64, pid,
		threads_tid(track->track));
	put_text(",\"processName\":", out);
	put_json_text(process ? trace_reader_text(fox->trace, process->name)
			      : "",
		      out);
	put_text(",\"name\":", out);
	put_json_text(threads_name(fox->trace, track->track, name), out);
}

static int put_fox_markers(struct fox *fox, const struct fox_track *track,
			   FILE *out)
{
	static const char *const names[] = { "name", "startTime", "category" };
	uint32_t first = track->track->number * COLUMNS + MARKER_NAME;
	uint32_t count = (uint32_t)track->markers;
	int err = 0;

	put_table("markers", count, out);
	for (uint32_t i = 0; i < ARRAY_SIZE(names) && !err; i++) {
		put_text(",\"", out);
		put_text(names[i], out);
		put_text("\":[", out);
		err = count ? spool_copy(fox->spool, first + i, out) : 0;
		put_char(']', out);
	}
	put_column("endTime", "null", count, out);
	put_column("phase", "0", count, out);
	put_column("data", "null", count, out);
	put_char('}', out);
	return err;
}

static int put_thread(struct fox *fox, struct fox_track *track, FILE *out)
{
	int err;
	const struct fox_stack *stacks;
	uint32_t count;
	static const char *const names[] = { "stack", "time", "weight",
					     "threadCPUDelta" };
	uint32_t columns;

	/* Ends the last span. */
	track->depth = 0;
	err = put_sample(fox, track, track->ns);
	if (err)
		return err;
	put_thread_head(fox, track, out);
	columns = call_reader_has_sched(fox->reader) ? MARKER_NAME : COLUMN_CPU;
	err = 0;
	put_table("samples", track->samples, out);
	put_text(",\"weightType\":\"tracing-ms\"", out);
	for (uint32_t i = 0; i < columns && !err; i++) {
		put_text(",\"", out);
		put_text(names[i], out);
		put_text("\":[", out);
		err = spool_copy(fox->spool, track->track->number * COLUMNS + i,
				 out);
		put_char(']', out);
	}
	put_char('}', out);
	stacks = track->stacks.items;
	count = track->stacks.count;
	put_table("stackTable", count, out);
	put_text(",\"frame\":[", out);
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			put_char(',', out);
		put_count(stacks[i].function, out);
	}
	put_text("],\"prefix\":[", out);
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			put_char(',', out);
		if (stacks[i].prefix)
			put_count(stacks[i].prefix - 1, out);
		else
			put_text("null", out);
	}
	put_text("],\"category\":[", out);
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			put_char(',', out);
		put_count(stacks[i].category, out);
	}
	put_char(']', out);
	put_column("subcategory", "0", count, out);
	put_char('}', out);
	put_functions(fox, track, out);
	if (!err)
		err = put_fox_markers(fox, track, out);
	put_text(",\n\"resourceTable\":{\"length\":0,"
		 "\"lib\":[],\"name\":[],\"host\":[],\"type\":[]},\n"
		 "\"nativeSymbols\":{\"length\":0,\"libIndex\":[],"
		 "\"address\":[],\"name\":[],\"functionSize\":[]}",
		 out);
	put_char('}', out);
	return err;
}

static void put_fox_categories(const struct fox *fox, FILE *out)
{
	static const char *const colours[] = { "green",	    "orange", "purple",
					       "lightblue", "yellow", "magenta",
					       "brown",	    "red" };
	const uint64_t *texts = fox->categories.items;

	put_text("\"categories\":[{\"name\":\"Other\",\"color\":\"grey\","
		 "\"subcategories\":[\"Other\"]},{\"name\":\"Call\","
		 "\"color\":\"blue\",\"subcategories\":[\"Other\"]}",
		 out);
	for (uint32_t i = 0; i < fox->categories.count; i++) {
		put_text(",\n{\"name\":", out);
		put_json_text(trace_reader_text(fox->trace, (uint32_t)texts[i]),
			      out);
		put_text(",\"color\":\"", out);
		put_text(colours[i % ARRAY_SIZE(colours)], out);
		put_text("\",\"subcategories\":[\"Other\"]}", out);
	}
	put_text("],", out);
}

static int write_fox(struct fox *fox, struct call_reader *reader, FILE *out)
{
	struct call_event event;
	bool any = false;
	int got, err = 0;

	while ((got = call_reader_next(reader, &event)) > 0 && !err)
		err = take(fox, &event.event);
	put_text("{\"meta\":{\"version\":29,\"preprocessedProfileVersion\":48,"
		 "\"interval\":1,\"startTime\":0,\"processType\":0,"
		 "\"product\":\"perfrec " PERFREC_VERSION "\","
		 "\"importedFrom\":\"perfrec\",\"stackwalk\":1,\"debug\":false,"
		 "\"symbolicated\":true,\"doesNotUseFrameImplementation\":true,"
		 "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		 "\"threadCPUDelta\":\"ns\"},",
		 out);
	put_fox_categories(fox, out);
	put_text("\"markerSchema\":[]},\n"
		 "\"libs\":[],\"pages\":[],\"counters\":[],\"threads\":[\n",
		 out);
	for (uint32_t i = 0; i < fox->room && !err; i++) {
		if (!fox->tracks[i].track)
			continue;
		if (any)
			put_text(",\n", out);
		any = true;
		err = put_thread(fox, &fox->tracks[i], out);
	}
	put_text("]}\n", out);
	return err ? err : got;
}

int export_firefox(struct call_reader *reader, FILE *out)
{
	struct fox fox = { .reader = reader,
			   .trace = call_reader_trace(reader),
			   .origin_ns = call_reader_origin(reader) };
	FILE *gz;
	int err = spool_new(&fox.spool);

	if (err)
		return err;
	pool_init(&fox.categories, NULL, sizeof(uint64_t), sizeof(uint64_t));
	gz = gz_stream_open(out);
	err = gz ? write_fox(&fox, reader, gz) : -ENOMEM;
	for (uint32_t i = 0; i < fox.room; i++) {
		pool_release(&fox.tracks[i].functions);
		pool_release(&fox.tracks[i].stacks);
		free(fox.tracks[i].open);
	}
	free(fox.tracks);
	pool_release(&fox.categories);
	spool_free(&fox.spool);
	if (gz && fclose(gz) && err >= 0)
		err = -EIO;
	return !err && ferror(out) ? -EIO : err;
}
