/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread changes its state up to a million times a second. So a piece of the
 * strip is one state if that is long enough, and otherwise the sums of several.
 */
#include "collector/page/page_states.h"

#include <stdlib.h>

#include "collector/read/trace_sched.h"
#include "shared/compiler.h"

#define PIECES_MAX 60000
#define HEAT_NS 20000000
#define HEAT_ENTRIES_MAX 30000

struct piece {
	uint64_t from, to;
	struct trace_sched_sums sums;
};

/* The time of one thread of the page. Programs that replace each other by exec()
 * are threads with the same tid: each has the time from its first event to the
 * first event of the next. The first one also has the time before. */
struct image {
	int64_t tid;
	uint64_t from_ns, to_ns;
	uint32_t thread;
};

/* Writes one column of the pieces of all threads, or counts them. */
struct piece_writer {
	const struct page_data *data;
	const struct image *images; /* by thread */
	uint32_t image_count;
	struct page_columns *columns; /* NULL: count only */
	int column;
	uint64_t least_ns; /* of one piece */
	uint64_t count;
	uint32_t thread;
	struct piece piece; /* from == to: empty */
};

static const char *const piece_columns[] = { "thread", "begin",	   "duration",
					     "on_cpu", "runnable", "blocked" };

static void write_state_piece(struct piece_writer *writer)
{
	const struct piece *piece = &writer->piece;
	const uint64_t values[] = {
		writer->thread,		 0,
		piece->to - piece->from, piece->sums.on_cpu,
		piece->sums.preempted,	 piece->sums.waited
	};

	if (piece->from == piece->to)
		return;
	writer->count++;
	if (writer->columns && writer->column == 1)
		page_columns_put_signed(
			writer->columns,
			(int64_t)(piece->from - writer->data->origin_ns));
	else if (writer->columns)
		page_columns_put(writer->columns, values[writer->column]);
	writer->piece.from = writer->piece.to;
}

/* Adds a time in one state. The times of a thread follow each other. */
static void add_state(struct piece_writer *writer, const struct image *image,
		      uint64_t from, uint64_t to, bool on_cpu)
{
	const struct time_range *range = &writer->data->calls->range;
	struct piece *piece = &writer->piece;
	struct trace_sched_sums sums = { 0 };

	from = MAX(from, MAX(range->from_ns, image->from_ns));
	to = MIN(to, MIN(range->to_ns, image->to_ns));
	if (from >= to)
		return;
	if (to - from >= writer->least_ns)
		write_state_piece(writer);
	if (piece->from == piece->to)
		*piece = (struct piece){ .from = from };
	piece->to = to;
	if (on_cpu)
		sums.on_cpu = to - from;
	else
		sums = trace_sched_between(writer->data->sched, image->tid,
					   from, to);
	piece->sums.on_cpu += sums.on_cpu;
	piece->sums.preempted += sums.preempted;
	piece->sums.waited += sums.waited;
	if (piece->to - piece->from >= writer->least_ns)
		write_state_piece(writer);
}

static uint64_t write_threads(struct piece_writer *writer)
{
	for (uint32_t k = 0; k < writer->image_count; k++) {
		const struct image *image = &writer->images[k];
		const struct trace_stretch *at;
		uint32_t count = trace_sched_stretches(writer->data->sched,
						       image->tid, &at);

		writer->thread = image->thread;
		for (uint32_t i = 0; i < count; i++) {
			if (i)
				add_state(writer, image, at[i - 1].to,
					  at[i].from, false);
			add_state(writer, image, at[i].from, at[i].to, true);
		}
		write_state_piece(writer);
	}
	return writer->count;
}

static int compare_images(const void *a, const void *b)
{
	const struct image *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int compare_image_threads(const void *a, const void *b)
{
	const struct image *x = a, *y = b;

	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Sets @images to all threads, sorted by tid, and returns their number. */
static uint32_t find_images(const struct calls *calls, struct image *images)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i < calls->tree.thread_count; i++) {
		const struct trace_track *track = calls->tree.threads[i].track;

		if (track->kind == TRACE_TRACK_THREAD)
			images[count++] =
				(struct image){ track->tid, track->first_ns,
						UINT64_MAX, i };
	}
	qsort(images, count, sizeof(*images), compare_images);
	for (uint32_t i = 0; i < count; i++) {
		if (!i || images[i - 1].tid != images[i].tid)
			images[i].from_ns = 0;
		else
			images[i - 1].to_ns = images[i].from_ns;
	}
	return count;
}

void page_states_put(const struct page_data *data, struct page_columns *columns)
{
	uint64_t least_ns = 1, count;
	struct image *images;
	uint32_t image_count;

	if (!data->sched)
		return;
	images = calloc(data->calls->tree.thread_count, sizeof(*images));
	if (!images)
		return;
	image_count = find_images(data->calls, images);
	qsort(images, image_count, sizeof(*images), compare_image_threads);
	/* Most recordings with more pieces have more than one busy thread. */
	if (trace_sched_switches(data->sched) > PIECES_MAX)
		least_ns += (data->calls->tree.totals.last_ns -
			     data->calls->tree.totals.first_ns) /
			    PIECES_MAX;
	for (;; least_ns *= 4) {
		struct piece_writer counter = { .data = data,
						.images = images,
						.image_count = image_count,
						.least_ns = least_ns };

		count = write_threads(&counter);
		if (count <= PIECES_MAX || least_ns >> 62)
			break;
	}
	for (size_t i = 0; count && i < ARRAY_SIZE(piece_columns); i++) {
		struct piece_writer writer = { .data = data,
					       .images = images,
					       .image_count = image_count,
					       .columns = columns,
					       .column = (int)i,
					       .least_ns = least_ns };

		page_columns_begin(columns, i == 1 ? "d" : "u", "state.%s",
				   piece_columns[i]);
		write_threads(&writer);
	}
	free(images);
}

/* --- CPU use --- */

struct page_heat page_states_heat(const struct page_data *data)
{
	const struct time_range *range = &data->calls->range;
	uint64_t first = page_data_first_ns(data);
	uint64_t last = MIN(data->calls->tree.totals.last_ns, range->to_ns - 1);
	struct page_heat heat = { .first_ns = first, .width_ns = HEAT_NS };

	if (!data->sched || last < first)
		return (struct page_heat){ 0 };
	while ((last - first) / heat.width_ns >= HEAT_ENTRIES_MAX)
		heat.width_ns *= 5;
	heat.count = (last - first) / heat.width_ns + 1;
	return heat;
}

/* Adds a stretch on a CPU; its times count from the first entry. */
static void add_heat(uint64_t *heat, uint64_t width, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t end = MIN(to, (from / width + 1) * width);

		heat[from / width] += end - from;
		from = end;
	}
}

void page_states_put_heat(const struct page_data *data,
			  struct page_columns *columns)
{
	const struct page_heat size = page_states_heat(data);
	const uint64_t first = size.first_ns;
	uint64_t *heat = calloc(size.count + 1, sizeof(*heat));
	struct image *images =
		calloc(data->calls->tree.thread_count, sizeof(*images));
	uint32_t image_count = heat && images && size.count
				       ? find_images(data->calls, images)
				       : 0;

	for (uint32_t i = 0; i < image_count; i++) {
		const struct trace_stretch *at;
		uint32_t stretches =
			trace_sched_stretches(data->sched, images[i].tid, &at);

		if (i && images[i - 1].tid == images[i].tid)
			continue;

		for (uint32_t k = 0; k < stretches; k++)
			add_heat(heat, size.width_ns,
				 MAX(at[k].from, first) - first,
				 MIN(MAX(at[k].to, first) - first,
				     size.count * size.width_ns));
	}
	if (image_count) {
		PAGE_COLUMN(columns, i, size.count, heat[i], "u",
			    "cpu_heat.ns");
	}
	free(heat);
	free(images);
}
