/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/page/page_time.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/page/page_states.h"
#include "collector/show/call_text.h"
#include "shared/compiler.h"

/* --- processes and threads --- */

/* The distinct processes of the trace. Number 0 is unknown. */
struct processes {
	const struct trace_track **list;
	uint32_t *of_track; /* by number of a track */
	uint32_t count, tracks;
};

static uint32_t text_in_page(struct page_data *data, uint32_t text)
{
	return page_data_text(
		data, trace_reader_text(data->calls->tree.reader, text));
}

static const struct trace_track *track_of_thread(const struct page_data *data,
						 uint32_t thread)
{
	return data->calls ? data->calls->tree.threads[thread].track : NULL;
}

/* Puts @ns relative to the origin of times; 0 if it is unknown. */
static void put_thread_time(const struct page_data *data, uint64_t ns,
			    struct page_columns *columns)
{
	page_columns_put_signed(columns,
				ns ? (int64_t)(ns - data->origin_ns) : 0);
}

static void put_thread_times(const struct page_data *data, uint32_t count,
			     struct page_columns *columns)
{
	const struct trace_track *track;

	page_columns_begin(columns, "z", "thread.first_ns");
	for (uint32_t i = 0; i < count; i++) {
		track = track_of_thread(data, i);
		put_thread_time(data, track ? track->first_ns : 0, columns);
	}
	page_columns_begin(columns, "z", "thread.last_ns");
	for (uint32_t i = 0; i < count; i++) {
		track = track_of_thread(data, i);
		put_thread_time(data, track ? track->last_ns : 0, columns);
	}
}

static void put_threads(struct page_data *data,
			const struct processes *processes,
			struct page_columns *columns)
{
	uint32_t count = data->calls ? data->calls->tree.thread_count : 1;
	const struct trace_track *track;

	page_columns_begin(columns, "u", "thread.process");
	for (uint32_t i = 0; i < count; i++) {
		track = track_of_thread(data, i);
		page_columns_put(
			columns,
			track && track->process
				? processes->of_track[track->process->number]
				: 0);
	}
	page_columns_begin(columns, "u", "thread.tid");
	for (uint32_t i = 0; i < count; i++) {
		track = track_of_thread(data, i);
		page_columns_put_signed(columns, track ? track->tid : 0);
	}
	page_columns_begin(columns, "u", "thread.name");
	for (uint32_t i = 0; i < count; i++) {
		track = track_of_thread(data, i);
		page_columns_put(columns,
				 track ? text_in_page(data, track->name) : 0);
	}
	page_columns_begin(columns, "u", "thread.kind");
	for (uint32_t i = 0; i < count; i++) {
		track = track_of_thread(data, i);
		page_columns_put(columns,
				 track && track->kind == TRACE_TRACK_CONTEXT);
	}
	put_thread_times(data, count, columns);
}

int page_time_put_threads(struct page_data *data, struct page_columns *columns)
{
	struct processes processes = { 0 };
	int err;
	const struct calls *calls = data->calls;
	const struct trace_track *track;

	while (calls &&
	       trace_reader_track(calls->tree.reader, processes.tracks))
		processes.tracks++;
	processes.list =
		calloc((size_t)processes.tracks + 1, sizeof(*processes.list));
	processes.of_track = calloc((size_t)processes.tracks + 1,
				    sizeof(*processes.of_track));
	if (!processes.list || !processes.of_track) {
		err = -ENOMEM;
	} else {
		processes.count = 1;
		for (uint32_t i = 0; i < processes.tracks; i++) {
			track = trace_reader_track(calls->tree.reader, i);
			if (track->kind != TRACE_TRACK_PROCESS)
				continue;
			processes.of_track[i] = processes.count;
			processes.list[processes.count++] = track;
		}
		err = 0;
	}
	if (!err) {
		page_columns_begin(columns, "u", "process.pid");
		for (uint32_t i = 0; i < processes.count; i++)
			page_columns_put_signed(columns,
						i ? processes.list[i]->pid : 0);
		PAGE_COLUMN(columns, i, processes.count,
			    i ? text_in_page(data, processes.list[i]->name) : 0,
			    "u", "process.name");
		PAGE_COLUMN(columns, i, processes.count,
			    i ? text_in_page(data, processes.list[i]->command)
			      : 0,
			    "u", "process.command");
		put_threads(data, &processes, columns);
	}
	free(processes.list);
	free(processes.of_track);
	return err;
}

/* --- the timeline --- */

/* By text of the trace: the function with this name. */
struct named {
	uint32_t *function;
	uint32_t count;
};

static int find_named_functions(struct page_data *data, struct named *out)
{
	struct trace_reader *reader = data->calls->tree.reader;
	uint32_t *by_text;

	out->count = trace_reader_texts(reader) + 1;
	out->function = calloc(out->count, sizeof(*out->function));
	by_text = calloc((size_t)data->trace_text_room + 1, sizeof(*by_text));
	if (!out->function || !by_text) {
		free(by_text);
		return -ENOMEM;
	}
	for (uint32_t i = data->functions.count; i-- > 1;) {
		uint32_t text = page_data_function_at(data, i)->name;

		if (text < data->trace_text_room)
			by_text[text] = i;
	}
	for (uint32_t i = 0; i < data->trace_text_room; i++) {
		uint32_t name = data->trace_texts[i];

		if (name && name < out->count)
			out->function[name] = by_text[i];
	}
	free(by_text);
	return 0;
}

static uint32_t function_of_name(struct page_data *data, struct named *named,
				 uint32_t name)
{
	uint32_t text;

	if (name >= named->count || !name)
		return 0;
	if (named->function[name])
		return named->function[name];
	/* Annotations, and functions without profile. */
	text = text_in_page(data, name);
	return named->function[name] = page_data_function(data, text, 0);
}

static void put_time_level(struct page_data *data, struct named *named,
			   const struct timeline *timeline, const char *name,
			   int number, struct page_columns *columns)
{
	const struct timeline_level *level = &timeline->level[number];

	PAGE_COLUMN(columns, i, level->count, level->calls[i].thread, "u",
		    "%s.%d.thread", name, number);
	PAGE_COLUMN(columns, i, level->count, level->calls[i].depth, "u",
		    "%s.%d.depth", name, number);
	page_columns_begin(columns, "d", "%s.%d.begin", name, number);
	for (uint32_t i = 0; i < level->count; i++)
		page_columns_put_signed(
			columns,
			(int64_t)(level->calls[i].begin_ns - data->origin_ns));
	PAGE_COLUMN(columns, i, level->count, level->calls[i].duration_ns, "u",
		    "%s.%d.duration", name, number);
	PAGE_COLUMN(columns, i, level->count,
		    function_of_name(data, named, level->calls[i].name), "u",
		    "%s.%d.function", name, number);
	PAGE_COLUMN(columns, i, level->count, level->calls[i].count, "u",
		    "%s.%d.count", name, number);
}

/* --- the slowest calls --- */

#define SLOW_CALLS_MAX 40000
#define SLOW_CALLS_LEAST 3 /* of a function */

enum slow_column {
	SLOW_FUNCTION,
	SLOW_BEGIN,
	SLOW_DURATION,
	SLOW_STOPPED,
	SLOW_THREAD,
	SLOW_DEPTH,
	SLOW_UNFINISHED,
	SLOW_ARGUMENTS,
	SLOW_ON_CPU, /* this and the next two: with switches only */
	SLOW_RUNNABLE,
	SLOW_BLOCKED,
	SLOW_COLUMNS
};

static const char *const slow_columns[SLOW_COLUMNS] = {
	"function",   "begin",	   "duration", "stopped",  "thread", "depth",
	"unfinished", "arguments", "on_cpu",   "runnable", "blocked"
};

static uint32_t arguments_in_page(struct page_data *data,
				  const struct call_arguments *arguments)
{
	struct call_text line = { .used = 0 };

	call_text_arguments(&line, arguments);
	line.text[line.used] = '\0';
	return page_data_text(data, line.text);
}

static struct trace_sched_sums sched_of_call(struct page_data *data,
					     const struct slow_call *call)
{
	const struct trace_track *track = track_of_thread(data, call->thread);
	uint64_t ns = call->took_ns + call->waited_ns;

	return trace_sched_between(data->sched, track ? track->tid : 0,
				   call->begin_ns, call->begin_ns + ns);
}

static void put_slow_call(struct page_data *data, const struct slow_call *call,
			  uint32_t function, enum slow_column column,
			  struct page_columns *columns)
{
	const struct trace_sched_sums none = { 0 };
	const struct trace_sched_sums sums =
		column < SLOW_ON_CPU ? none : sched_of_call(data, call);
	const uint64_t numbers[SLOW_COLUMNS] = {
		[SLOW_FUNCTION] = function,
		[SLOW_DURATION] = call->took_ns,
		[SLOW_STOPPED] = call->waited_ns,
		[SLOW_THREAD] = call->thread,
		[SLOW_DEPTH] = call->depth,
		[SLOW_UNFINISHED] = call->unfinished,
		[SLOW_ON_CPU] = sums.on_cpu,
		[SLOW_RUNNABLE] = sums.preempted,
		[SLOW_BLOCKED] = sums.waited,
	};

	if (column == SLOW_BEGIN)
		page_columns_put_signed(
			columns, (int64_t)(call->begin_ns - data->origin_ns));
	else if (column == SLOW_ARGUMENTS)
		page_columns_put(columns,
				 arguments_in_page(data, call->arguments));
	else
		page_columns_put(columns, numbers[column]);
}

static void put_slow_calls(struct page_data *data, struct named *named,
			   struct page_columns *columns)
{
	const struct slowest *slowest = &data->calls->slowest;
	const uint32_t most =
		MAX(SLOW_CALLS_MAX / MAX(slowest->count, 1u), SLOW_CALLS_LEAST);
	const int count = data->sched ? SLOW_COLUMNS : SLOW_ON_CPU;

	for (int column = 0; column < count; column++) {
		page_columns_begin(columns, column == SLOW_BEGIN ? "d" : "u",
				   "slow.%s", slow_columns[column]);
		for (uint32_t i = 0; i < slowest->count; i++) {
			const struct slow_function *of = &slowest->functions[i];
			uint32_t function =
				function_of_name(data, named, of->name);

			for (uint32_t k = 0; k < MIN(of->count, most); k++)
				put_slow_call(data, &of->calls[k], function,
					      (enum slow_column)column,
					      columns);
		}
	}
}

static void put_instants(struct page_data *data, struct page_columns *columns)
{
	const struct call_instant *instants = data->calls->instants;
	uint32_t count = data->calls->instant_count;

	PAGE_COLUMN(columns, i, count, instants[i].thread, "u",
		    "instant.thread");
	page_columns_begin(columns, "d", "instant.ns");
	for (uint32_t i = 0; i < count; i++)
		page_columns_put_signed(
			columns, (int64_t)(instants[i].ns - data->origin_ns));
	PAGE_COLUMN(columns, i, count, text_in_page(data, instants[i].name),
		    "u", "instant.name");
	PAGE_COLUMN(columns, i, count,
		    arguments_in_page(data, instants[i].arguments), "u",
		    "instant.arguments");
}

/* --- durations over time --- */

#define HEAT_CELLS_MAX 120000

struct heat_row {
	uint32_t function, cells;
	double weight; /* about the time of all calls */
};

static int compare_heat_rows(const void *a, const void *b)
{
	const struct heat_row *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* Returns for each function of the slowest whether the page has its durations
 * over time: those with most time do. Returns NULL without memory. */
static bool *choose_heat(const struct slowest *slowest)
{
	struct heat_row *rows = calloc(slowest->count + 1, sizeof(*rows));
	bool *chosen = calloc(slowest->count + 1, sizeof(*chosen));
	uint32_t left = HEAT_CELLS_MAX;

	for (uint32_t i = 0; rows && i < slowest->count; i++)
		rows[i].function = i;
	for (uint32_t i = 0; rows && i < slowest->bars.count; i++) {
		const struct time_cell *cell = &slowest->bars.cells[i];
		struct heat_row *row = &rows[time_cells_thread(cell)];

		row->cells++;
		row->weight += (double)cell->calls *
			       (double)slowest_bar_ns(time_cells_node(cell));
	}
	if (rows)
		qsort(rows, slowest->count, sizeof(*rows), compare_heat_rows);
	for (uint32_t i = 0; rows && chosen && i < slowest->count; i++) {
		if (rows[i].cells > left)
			break;
		left -= rows[i].cells;
		chosen[rows[i].function] = true;
	}
	free(rows);
	return chosen;
}

static int put_heat(struct page_data *data, struct named *named,
		    struct page_columns *columns)
{
	static const char *const names[] = { "function", "ns", "calls" };
	const struct slowest *slowest = &data->calls->slowest;
	const struct time_cells *bars = &slowest->bars;
	bool *chosen = choose_heat(slowest);

	if (!chosen)
		return -ENOMEM;
	page_columns_begin(columns, "d", "heat.bucket");
	for (uint32_t i = 0; i < bars->count; i++)
		if (chosen[time_cells_thread(&bars->cells[i])])
			page_columns_put_signed(
				columns,
				time_cells_bucket(bars, &bars->cells[i]));
	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		page_columns_begin(columns, "u", "heat.%s", names[k]);
		for (uint32_t i = 0; i < bars->count; i++) {
			const struct time_cell *cell = &bars->cells[i];
			uint32_t number = time_cells_thread(cell);

			if (chosen[number])
				page_columns_put(
					columns,
					k == 2 ? cell->calls
					: k == 1
						? slowest_bar_ns(
							  time_cells_node(cell))
						: function_of_name(
							  data, named,
							  slowest->functions
								  [number]
									  .name));
		}
	}
	free(chosen);
	return 0;
}

/* --- curves --- */

static bool is_call_named(const struct calls *calls, uint32_t number,
			  const char *name)
{
	return strcmp(calls_curve_name(calls, calls->curves[number]), name) ==
	       0;
}

const struct calls_curve *page_time_curve_beside(const struct calls *calls,
						 const char *name)
{
	for (uint32_t i = 0; calls->curve && i < calls->curve_count; i++)
		if (calls->curves[i]->track->parent ==
			    calls->curve->track->parent &&
		    is_call_named(calls, i, name))
			return calls->curves[i];
	return NULL;
}

bool page_time_is_counter(const struct calls *calls, uint32_t number)
{
	const struct calls_curve *curve = calls->curves[number];
	const char *name = calls_curve_name(calls, curve);

	if (!strcmp(name, CALLS_IN_USE_NAME) || !strcmp(name, CALLS_MUTED_NAME))
		return false;
	for (uint32_t i = 0; i < calls->curve_count; i++) {
		const struct calls_curve *other = calls->curves[i];

		if (i != number && is_call_named(calls, i, name) &&
		    (other->peak.value > curve->peak.value ||
		     (other->peak.value == curve->peak.value && i < number)))
			return false;
	}
	return true;
}

static void raise_to_curve(const struct time_cells *cells,
			   const struct calls_curve *curve, uint64_t *most)
{
	uint32_t buckets = time_cells_buckets(cells), at = 0;
	uint64_t now = 0;

	for (uint32_t i = 0; i < buckets; i++) {
		most[i] = MAX(most[i], now);
		for (; at < curve->count &&
		       curve->points[at].ns < time_cells_begin(cells, i + 1);
		     at++) {
			now = curve->points[at].after;
			most[i] = MAX(most[i], curve->points[at].value);
		}
	}
}

static void put_time_buckets(const struct calls *calls, const char *name,
			     const uint64_t amounts[TIME_BUCKETS_MAX],
			     struct page_columns *columns)
{
	uint32_t buckets = time_cells_buckets(&calls->cells);

	PAGE_COLUMN(columns, i, buckets, amounts[i], "u", "%s", name);
}

/* Writes the largest value of @curve in each bucket. */
static void put_curve(const struct calls *calls, const char *name,
		      const struct calls_curve *curve,
		      struct page_columns *columns)
{
	uint64_t most[TIME_BUCKETS_MAX] = { 0 };

	raise_to_curve(&calls->cells, curve, most);
	put_time_buckets(calls, name, most, columns);
}

/* Returns the earliest time of a point behind the first at[i] points of each
 * band i, and moves at[i] behind it; UINT64_MAX: there is none. */
static uint64_t next_band_time(const struct calls *calls,
			       uint32_t at[CALLS_BANDS])
{
	uint64_t ns = UINT64_MAX;

	for (uint32_t i = 0; i < calls->band_count; i++)
		if (at[i] < calls->bands[i]->count)
			ns = MIN(ns, calls->bands[i]->points[at[i]].ns);
	for (uint32_t i = 0; i < calls->band_count; i++)
		at[i] += at[i] < calls->bands[i]->count &&
			 calls->bands[i]->points[at[i]].ns == ns;
	return ns;
}

/* Writes the bytes of all bands whenever one of them changes. */
static void put_bands(struct page_data *data, struct page_columns *columns)
{
	const struct calls *calls = data->calls;
	uint32_t at[CALLS_BANDS] = { 0 };
	uint64_t ns;

	PAGE_COLUMN(
		columns, i, calls->band_count,
		page_data_text(data, calls_curve_name(calls, calls->bands[i]) +
					     strlen(CALLS_BAND_NAME)),
		"u", "heap.site_name");
	page_columns_begin(columns, "d", "heap.site_ns");
	while ((ns = next_band_time(calls, at)) != UINT64_MAX)
		page_columns_put_signed(columns,
					(int64_t)(ns - data->origin_ns));
	for (uint32_t i = 0; i < calls->band_count; i++) {
		const struct calls_curve *band = calls->bands[i];

		memset(at, 0, sizeof(at));
		page_columns_begin(columns, "u", "heap.site.%u", i);
		while (next_band_time(calls, at) != UINT64_MAX)
			page_columns_put(columns,
					 at[i] ? band->points[at[i] - 1].value
					       : 0);
	}
}

static void put_memory(struct page_data *data, struct page_columns *columns)
{
	const struct calls_curve *curve = data->calls->curve;
	const struct calls_curve *allocated =
		page_time_curve_beside(data->calls, "heap: allocated");

	put_curve(data->calls, "overview.memory", curve, columns);
	if (allocated)
		put_curve(data->calls, "heap.allocated", allocated, columns);
	page_columns_begin(columns, "d", "heap.ns");
	for (uint32_t i = 0; i < curve->count; i++)
		page_columns_put_signed(columns, (int64_t)(curve->points[i].ns -
							   data->origin_ns));
	PAGE_COLUMN(columns, i, curve->count, curve->points[i].value, "u",
		    "heap.bytes");
	if (data->calls->band_count)
		put_bands(data, columns);
}

static void put_counters(const struct calls *calls,
			 struct page_columns *columns)
{
	uint64_t muted[TIME_BUCKETS_MAX] = { 0 };
	bool any = false;
	char name[32];

	for (uint32_t i = 0; i < calls->curve_count; i++) {
		if (is_call_named(calls, i, CALLS_MUTED_NAME)) {
			raise_to_curve(&calls->cells, calls->curves[i], muted);
			any = true;
		}
		if (!page_time_is_counter(calls, i))
			continue;
		snprintf(name, sizeof(name), "overview.counter.%u", i);
		put_curve(calls, name, calls->curves[i], columns);
	}
	if (any)
		put_time_buckets(calls, "overview.muted", muted, columns);
}

static uint32_t bucket_at(const struct time_cells *cells, uint64_t ns)
{
	uint64_t bucket = ns >> cells->shift;

	return (uint32_t)(MAX(MIN(bucket, cells->last), cells->first) -
			  cells->first);
}

static void put_gaps(const struct calls *calls, enum time_gap_kind kind,
		     const char *name, struct page_columns *columns)
{
	const struct time_cells *gaps = &calls->gaps;
	uint64_t amounts[TIME_BUCKETS_MAX] = { 0 };
	bool any = false;

	for (uint32_t i = 0; i < gaps->count && calls->cells.begun; i++) {
		const struct time_cell *cell = &gaps->cells[i];
		uint64_t ns =
			time_cells_begin(gaps, time_cells_bucket(gaps, cell));

		if (time_cells_node(cell) != 1 + (uint32_t)kind)
			continue;
		amounts[bucket_at(&calls->cells, ns)] += cell->calls;
		any |= cell->calls != 0;
	}
	if (any)
		put_time_buckets(calls, name, amounts, columns);
}

int page_time_put(struct page_data *data, struct page_columns *columns)
{
	struct named named = { 0 };
	int err = find_named_functions(data, &named);

	for (int i = 0; i < TIMELINE_LEVELS && !err; i++)
		put_time_level(data, &named, &data->calls->timeline, "timeline",
			       i, columns);
	for (int i = 0; i < TIMELINE_LEVELS && !err; i++)
		put_time_level(data, &named, &data->calls->waits, "waits", i,
			       columns);
	if (!err) {
		put_slow_calls(data, &named, columns);
		put_instants(data, columns);
		page_states_put(data, columns);
		page_states_put_heat(data, columns);
		err = put_heat(data, &named, columns);
	}
	free(named.function);
	if (err)
		return err;
	if (data->calls->curve)
		put_memory(data, columns);
	put_gaps(data->calls, TIME_GAP_LOST, "overview.lost", columns);
	put_gaps(data->calls, TIME_GAP_PAUSED, "overview.paused", columns);
	put_counters(data->calls, columns);
	return 0;
}
