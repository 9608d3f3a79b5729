/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_index - the input is a trace and its index (index_input.h). The target
 * reads the entire index, and jumps into the trace by it, with and without
 * chunks: begins and ends must balance. It also cuts two ranges and reads the
 * contents of a page.
 */
#include "collector/cut/trace_cut.h"
#include "collector/read/calls.h"
#include "collector/read/curves.h"
#include "collector/read/index_curve_set.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_parts.h"
#include "collector/read/trace_read.h"
#include "shared/compiler.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/index_input.h"

static volatile uint64_t g_sink;

static void look_at_sequence(const struct trace_index *index,
			     const struct index_sequence *sequence)
{
	struct index_buffer buffer = { 0 };
	struct index_stack stack;
	struct index_row row;

	for (uint32_t i = 0; i < sequence->checkpoint_count; i++) {
		if (trace_index_stack(sequence, i, &stack))
			continue;
		for (uint32_t j = 0; j < stack.count; j++)
			fuzz_must(stack.slices[j].node < sequence->node_count,
				  "a slice of no node");
		free(stack.slices);
	}
	for (uint32_t i = 0; i < sequence->chunk_count; i++) {
		struct index_get rows =
			index_load(index, sequence->chunks[i].rows, &buffer);
		int64_t node = 0;

		while (sequence->chunks[i].whole &&
		       index_row_next(sequence, &rows, &node, &row))
			fuzz_must(row.node < sequence->node_count,
				  "a row of no node");
	}
	for (uint32_t i = 0; i < sequence->block_count; i++) {
		const struct index_block *block = &sequence->blocks[i];
		struct index_cell_take take;
		struct index_cell cell;

		index_cell_take(&take, index_load(index, block->cells, &buffer),
				block->shift, block->start_ns);
		while (index_cell_next(&take, &cell))
			g_sink += cell.longest_ns;
	}
	free(buffer.at);
}

/* No bucket lies behind the block's last one. */
static void look_at_curves(const struct trace_index *index)
{
	struct index_curve_set set = { 0 };
	bool made = !index_curve_set_make(index, &set);

	for (uint32_t i = 0; made && i < set.count; i++)
		for (uint32_t j = 0; j < set.counters[i].count; j++) {
			const struct index_curve_block *block =
				&set.counters[i].blocks[j];
			struct index_bucket bucket = {
				.number = block->head.first
			};
			struct index_get buckets = block->buckets;

			while (index_curve_next(&buckets, &block->head,
						set.counters[i].real, &bucket))
				fuzz_must(bucket.number <= block->head.last,
					  "a bucket behind the last");
			g_sink += index_curve_end(block);
		}
	g_sink += index_curves_are_whole(index);
	index_curve_set_release(&set);
}

static void look_at(const struct trace_index *index)
{
	look_at_curves(index);
	for (uint32_t i = 0; i < index->sequence_count; i++)
		look_at_sequence(index, &index->sequences[i]);
}

static void read_parts(const char *path, const struct trace_index *index,
		       const struct parts_choice *choice)
{
	struct trace_reader *reader;
	struct skipped_chunks skipped;
	struct trace_event event;
	uint64_t begins = 0, ends = 0;

	if (trace_reader_open_parts(path, index, choice, &reader))
		return;
	for (uint32_t i = 0; i < index->sequence_count; i++)
		if (trace_reader_skipped(reader, i, &skipped))
			g_sink += skipped.last - skipped.first;
	while (trace_reader_next(reader, &event) > 0) {
		begins += event.kind == TRACE_BEGIN;
		ends += event.kind == TRACE_END;
	}
	fuzz_must(begins == ends, "begins and ends differ");
	trace_reader_close(&reader);
}

static void read_range(const char *path, const struct trace_index *index,
		       uint64_t from_ns, uint64_t to_ns)
{
	const struct time_range range = { from_ns, to_ns };
	struct parts_choice choice = { .ranges = &range, .range_count = 1 };

	choice.ends = true;
	read_parts(path, index, &choice);
	choice.ends = false;
	choice.calls_only = true;
	read_parts(path, index, &choice);
	choice.skips = PARTS_SKIP_CHUNKS;
	read_parts(path, index, &choice);
}

static void take(struct packet_window *window, const struct trace_part *part)
{
	if (part->kind == PART_PACKET)
		packet_window_take(window, &part->bytes);
	else if (part->kind == PART_RESTART)
		packet_window_restart(window, part->sequence, part->ns);
	else if (part->kind == PART_TRACK)
		packet_window_pass(window, part->uuid, part->count, part->ns);
	else
		packet_window_switch(window, part->sequence, &part->at);
}

static void cut(const char *path, const struct trace_index *index)
{
	struct time_range ranges[] = { { 1000, 2000 }, { 5000, 1ULL << 60 } };
	struct cut_range at[] = { { 1000, 2000 }, { 5000, 1ULL << 60 } };
	const struct parts_choice choice = { .ranges = ranges,
					     .range_count =
						     ARRAY_SIZE(ranges) };
	const struct cut_ranges same = { .at = at, .count = ARRAY_SIZE(at) };
	struct packet_window *window;
	struct trace_parts *parts;
	struct trace_part part;
	struct cut_file file;
	FILE *out = fopen("/dev/null", "w");

	fuzz_must(out, "no file");
	fuzz_must(!cut_file_begin(&file, out, false), "no memory");
	fuzz_must(!packet_window_new(&same, &file, NULL, &window), "no memory");
	if (!trace_parts_open(path, index, &choice, &parts)) {
		while (trace_parts_next(parts, &part) > 0)
			take(window, &part);
		trace_parts_close(&parts);
	}
	packet_window_end(window);
	packet_window_free(&window);
	fuzz_must(!cut_file_end(&file), "a cut was not written");
	fclose(out);
}

/* Reads a range with the times of all callees. */
static void read_callees(const char *path, const struct trace_index *index)
{
	const struct time_range range = { 5000, 6000 };
	const struct parts_choice choice = { .ranges = &range,
					     .range_count = 1,
					     .ends = true,
					     .callees = true };
	struct trace_reader *reader;
	struct trace_event event;

	if (trace_reader_open_parts(path, index, &choice, &reader))
		return;
	while (trace_reader_next(reader, &event) > 0)
		;
	trace_reader_close(&reader);
}

/* Points of a curve are in order, and least does not exceed greatest. */
static void curves(const char *path, const struct trace_index *index,
		   struct time_range range, bool rough)
{
	const struct curves_wish wish = {
		.range = range, .buckets = 16, .rough = rough, .index = index
	};
	struct curves *curves;

	if (curves_read(path, &wish, NULL, &curves))
		return;
	for (uint32_t i = 0; i < curves->count; i++) {
		const struct curve *curve = &curves->list[i];

		for (uint32_t j = 0; j < curve->count; j++) {
			const struct curve_point *point = &curve->points[j];

			fuzz_must(!j || point[-1].begin_ns < point->begin_ns,
				  "points are out of order");
			fuzz_must(point->last_ns >= range.from_ns &&
					  point->last_ns < range.to_ns,
				  "a value outside");
		}
	}
	curves_free(&curves);
}

static void look_at_some(const char *path, const struct trace_index *index)
{
	const struct time_range all = { 0, 1ULL << 60 };
	uint64_t ns = index->extent_count ? index->extents[0].last_ns : 0;

	curves(path, index, all, false);
	curves(path, index, all, true);
	curves(path, index, (struct time_range){ ns - MIN(ns, 20000U), ns + 1 },
	       false);
}

/* The contents of a page, from sums of chunks and levels of detail. */
static void sum_up(const char *path, const struct trace_index *index,
		   bool folds)
{
	const struct calls_choice choice = { .range = TIME_RANGE_ALL,
					     .index = index,
					     .folds = folds };
	struct calls *calls = NULL;

	if (calls_read(path, &choice, NULL, &calls))
		return;
	for (uint32_t i = 0; i < calls->cells.count; i++) {
		const struct time_cell *cell = &calls->cells.cells[i];

		fuzz_must(time_cells_node(cell) < calls->tree.nodes.count,
			  "a cell of no node");
		fuzz_must(time_cells_thread(cell) < calls->tree.thread_count,
			  "a cell of no thread");
	}
	calls_free(&calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_index *index = NULL;
	char trace_path[32], path[32];
	struct index_input input;
	int trace_fd, fd;
	uint8_t *file;

	if (!index_input_take(data, size, &input))
		return 0;
	trace_fd = fuzz_file(input.trace, input.trace_bytes);
	file = index_input_file(&input, &size);
	fd = fuzz_file(file, size);
	free(file);
	snprintf(trace_path, sizeof(trace_path), "/proc/self/fd/%d", trace_fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!trace_index_read(path, trace_path, &index)) {
		look_at(index);
		read_range(trace_path, index, 0, UINT64_MAX);
		read_range(trace_path, index, 1000, 2000);
		read_range(trace_path, index, 1000, 1ULL << 60);
		read_callees(trace_path, index);
		cut(trace_path, index);
		look_at_some(trace_path, index);
		sum_up(trace_path, index, false);
		sum_up(trace_path, index, true);
	}
	trace_index_free(&index);
	close(trace_fd);
	close(fd);
	return 0;
}
