/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_trace - reads the input as a trace. Contradicting events are findings as
 * well.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/cut/trace_cut.h"
#include "collector/read/call_search.h"
#include "collector/read/calls.h"
#include "collector/read/trace_bounds.h"
#include "collector/read/trace_origin.h"
#include "collector/read/trace_read.h"
#include "collector/read/trace_sched.h"
#include "collector/read/trace_sums.h"
#include "collector/read/window.h"
#include "shared/compiler.h"
#include "tests/fuzz/fuzz.h"

#define DEPTH_MAX 1024

static volatile uint64_t g_sink;

/* Reads all fields of @event. */
static void use_event(struct trace_reader *reader, struct trace_event *event)
{
	struct wire flows = event->fields;
	struct trace_argument argument;
	const struct trace_frame *frames;
	uint64_t id, sum = 0;
	uint32_t count;
	bool ends;

	sum += strlen(trace_reader_text(reader, event->name));
	sum += strlen(trace_reader_text(reader, event->category));
	sum += trace_reader_location(reader, event->location).line;
	count = trace_reader_stack(reader, event->stack, &frames);
	for (uint32_t i = 0; i < count; i++)
		sum += strlen(trace_reader_text(reader, frames[i].function));
	while (trace_flow_next(&flows, &id, &ends))
		sum += id;
	while (trace_argument_next(reader, event, &argument)) {
		for (size_t i = 0; i < argument.name_bytes; i++)
			sum += (unsigned char)argument.name[i];
		for (size_t i = 0; i < argument.text_bytes; i++)
			sum += (unsigned char)argument.text[i];
	}
	g_sink += sum;
}

static void check_event(const struct trace_event *event)
{
	bool slice = event->kind == TRACE_BEGIN || event->kind == TRACE_END;

	if (slice != !!event->slice || event->depth >= DEPTH_MAX)
		abort();
	if (event->kind == TRACE_SAMPLE)
		return;
	if (!event->track)
		abort();
	if (event->kind == TRACE_END && event->ns < event->slice->begin_ns)
		abort();
}

static void use(const char *path)
{
	struct trace_reader *reader = NULL;
	struct trace_read_totals totals;
	struct trace_event event;
	int got;

	if (trace_reader_open(path, &reader))
		abort();
	while ((got = trace_reader_next(reader, &event)) > 0) {
		check_event(&event);
		use_event(reader, &event);
	}
	if (got != trace_reader_next(reader, &event))
		abort();
	totals = trace_reader_totals(reader);
	if (totals.begins != totals.ends || totals.at > totals.size)
		abort();
	trace_reader_close(&reader);
}

static void find_origin(const char *path)
{
	struct trace_origin origin;

	if (trace_origin_read(path, &origin))
		return;
	g_sink += strlen(origin.host) + strlen(origin.boot);
	fuzz_must(origin.boottime_ns && origin.realtime_ns,
		  "an origin has both clocks");
}

/* The sums have no more calls than begins, and no more time than the trace. */
static void sum_up(const char *path)
{
	struct calls *calls = NULL;
	uint64_t sum = 0;

	if (calls_read(path, NULL, NULL, &calls))
		abort();
	for (uint32_t i = 0; i < calls->cells.count; i++) {
		const struct time_cell *cell = &calls->cells.cells[i];

		sum += cell->calls;
		if (time_cells_bucket(&calls->cells, cell) >=
			    time_cells_buckets(&calls->cells) ||
		    time_cells_node(cell) >= calls->tree.nodes.count ||
		    time_cells_thread(cell) >= calls->tree.thread_count)
			abort();
	}
	if (sum > calls->tree.totals.begins ||
	    time_cells_buckets(&calls->cells) > TIME_BUCKETS_MAX)
		abort();
	calls_free(&calls);
}

/* Runs `perfrec report` for a killed collector: each call counts in a
 * function's sum, or as missing. */
static void rebuild(const char *path)
{
	struct trace_sums *sums = NULL;
	uint64_t calls;

	if (trace_sums_read(path, NULL, NULL, &sums))
		abort();
	calls = sums->tree.folded;
	for (uint32_t i = 0; i < sums->function_count; i++) {
		calls += sums->functions[i].calls;
		g_sink += strlen(trace_reader_text(sums->tree.reader,
						   sums->functions[i].name));
	}
	if (calls != sums->spans ||
	    sums->spans + sums->waits > sums->tree.totals.begins)
		abort();
	for (uint32_t i = 1; i < sums->tree.nodes.count; i++) {
		const struct sums_node *node = trace_sums_node(sums, i);

		if (node->call.parent >= i ||
		    node->call.thread >= sums->tree.thread_count)
			abort();
	}
	trace_sums_free(&sums);
}

/* Stretches of thread @tid do not overlap, and its states between two times add
 * up to the difference. */
static void check_thread(const struct trace_sched *sched, int64_t tid)
{
	const struct trace_stretch *at;
	uint32_t count = trace_sched_stretches(sched, tid, &at);
	uint64_t from = count ? at[count / 2].from : 5;
	uint64_t times[] = { 0, from, from + 1, from, from * 2, UINT64_MAX };

	for (uint32_t i = 0; i < count; i++)
		if (at[i].to < at[i].from || (i && at[i].from < at[i - 1].to))
			abort();
	for (unsigned int i = 0; i + 1 < ARRAY_SIZE(times); i++) {
		struct trace_sched_sums sums =
			trace_sched_between(sched, tid, times[i], times[i + 1]);
		uint64_t sum = sums.on_cpu + sums.preempted + sums.waited +
			       sums.unknown;

		if (sum != times[i + 1] - MIN(times[i], times[i + 1]))
			abort();
	}
}

static void schedule(const char *path)
{
	struct trace_sched *sched = NULL;

	if (trace_sched_read(path, NULL, NULL, &sched))
		abort();
	for (int64_t tid = 0; sched && tid < 64; tid++)
		check_thread(sched, tid);
	trace_sched_free(&sched);
}

/* Returns the middle third of @bounds. */
static struct time_range middle(const struct trace_bounds *bounds)
{
	uint64_t third = (bounds->last_ns - bounds->first_ns) / 3;

	if (!bounds->first_ns || bounds->last_ns < bounds->first_ns)
		return TIME_RANGE_ALL;
	return (struct time_range){ bounds->first_ns + third,
				    bounds->last_ns - third + 1 };
}

/* Each slice in a range begins before it ends. */
static void look_through(const char *path, struct time_range range)
{
	const struct window_choice choice = { .range = range };
	struct window *window = NULL;
	struct window_event event;
	uint64_t begins = 0, ends = 0;
	int got;

	if (window_open(path, &choice, &window))
		abort();
	while ((got = window_next(window, &event)) > 0) {
		begins += event.event.kind == TRACE_BEGIN;
		ends += event.event.kind == TRACE_END;
		if (event.event.kind == TRACE_END &&
		    event.event.ns < event.slice->shown_ns)
			abort();
		use_event(window_trace(window), &event.event);
	}
	if (begins != ends || got != window_next(window, &event))
		abort();
	window_close(&window);
}

/* Found calls are in the range, longest first. */
static void search(const char *path, struct time_range range)
{
	const struct call_wish wish = { .function = "*",
					.max_ns = UINT64_MAX,
					.range = range,
					.limit = 5 };
	struct call_search *found = NULL;
	uint64_t last = UINT64_MAX;

	if (call_search_run(path, &wish, NULL, &found))
		abort();
	for (size_t i = 0; i < found->count; i++) {
		const struct found_call *call = &found->calls[i];

		if (call->end_ns - call->begin_ns > last ||
		    call->begin_ns >= range.to_ns ||
		    call->end_ns < range.from_ns)
			abort();
		last = call->end_ns - call->begin_ns;
	}
	if (found->matched != found->seen || found->count > found->matched)
		abort();
	call_search_free(&found);
}

static void ranges(const char *path)
{
	struct trace_bounds bounds;

	if (trace_bounds_read(path, NULL, NULL, &bounds))
		abort();
	look_through(path, middle(&bounds));
	search(path, middle(&bounds));
}

/* Counts the begins and ends of a trace. */
static struct trace_read_totals totals_of(const char *path)
{
	struct trace_reader *reader = NULL;
	struct trace_read_totals totals;
	struct trace_event event;

	if (trace_reader_open(path, &reader))
		abort();
	while (trace_reader_next(reader, &event) > 0)
		;
	totals = trace_reader_totals(reader);
	trace_reader_close(&reader);
	return totals;
}

/* Any cut ends each slice that it begins, and has nothing outside of its
 * ranges. */
static void cut(const char *path)
{
	struct trace_read_totals all = totals_of(path), part;
	uint64_t length = all.last_ns - all.first_ns;
	struct cut_range two[] = {
		{ all.first_ns + length / 4, all.first_ns + length / 2 + 1 },
		{ all.first_ns + length / 2 + 2, UINT64_MAX },
	};
	const struct cut_ranges ranges = { two, 2, 2 };
	const struct trace_cut_wish wish = { .path = path,
					     .of = "input",
					     .ranges = &ranges,
					     .origin_ns = all.first_ns };
	struct trace_cut_result result;
	char copy[32];
	int fd = memfd_create("cut", MFD_CLOEXEC);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (all.last_ns > UINT64_MAX / 2)
		goto end;
	if (!out || trace_cut_write(&wish, out, &result))
		abort();
	snprintf(copy, sizeof(copy), "/proc/self/fd/%d", fd);
	part = totals_of(copy);
	if (part.unfinished || part.cut || part.begins != part.ends ||
	    (part.first_ns && part.first_ns < two[0].from))
		abort();
end:
	if (out)
		fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	use(path);
	find_origin(path);
	sum_up(path);
	rebuild(path);
	schedule(path);
	ranges(path);
	cut(path);
	close(fd);
	return 0;
}
