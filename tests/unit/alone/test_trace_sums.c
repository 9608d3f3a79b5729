/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over traces of the writers of collector/trace, for a summary.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/output/own_files.h"
#include "collector/read/calls.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_sums.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_index.h"
#include "tests/unit/no_memory.h"
#include "tests/unit/range_model.h"
#include "tests/unit/scratch.h"
#include "tests/unit/trace_rig.h"

#define SEQUENCE 5
#define MAIN 1
#define LEAF 2
#define WAIT 3

static struct trace_sums *g_sums;

static void write_head(void)
{
	const struct out_name names[] = {
		{ MAIN, "main" },
		{ LEAF, "leaf" },
		{ WAIT, "perfrec: waiting for collector" }
	};

	write_trace_head(SEQUENCE, 8, names, ARRAY_SIZE(names));
}

static void read_bytes(size_t bytes)
{
	char path[32];
	int fd = keep_trace(bytes, path);

	ck_assert_int_eq(trace_sums_read(path, NULL, NULL, &g_sums), 0);
	close(fd);
}

/* Zeros if it is unknown. */
static struct sums_function function(const char *name)
{
	for (uint32_t i = 0; i < g_sums->function_count; i++)
		if (strcmp(trace_reader_text(g_sums->tree.reader,
					     g_sums->functions[i].name),
			   name) == 0)
			return g_sums->functions[i];
	return (struct sums_function){ 0 };
}

static void expect_function(const char *name, uint64_t calls, uint64_t self_ns,
			    uint64_t total_ns)
{
	struct sums_function one = function(name);

	ck_assert_uint_eq(one.calls, calls);
	ck_assert_uint_eq(one.self_ns, self_ns);
	ck_assert_uint_eq(one.total_ns, total_ns);
}

TEST(outermost_calls_make_the_total_time)
{
	write_head();
	write_begin(MAIN, 10);
	write_begin(LEAF, 20);
	write_begin(LEAF, 30);
	write_end(70);
	write_end(100);
	write_begin(LEAF, 200);
	write_end(205);
	write_end(310);
	read_bytes(g_bytes);
	expect_function("leaf", 3, 85, 85);
	expect_function("main", 1, 215, 300);
	ck_assert_uint_eq(g_sums->function_count, 2);
	ck_assert_uint_eq(g_sums->spans, 4);
	ck_assert_uint_eq(g_sums->processes, 1);
	ck_assert_uint_eq(g_sums->tree.thread_count, 2);
	ck_assert_int_eq(g_sums->tree.threads[1].track->tid, 8);
	trace_sums_free(&g_sums);
	ck_assert_ptr_null(g_sums);
}

TEST(durations_are_those_of_all_calls)
{
	const struct histogram *leaf, *main;

	write_head();
	write_begin(MAIN, 10);
	write_begin(LEAF, 20);
	write_begin(LEAF, 30);
	write_end(70);
	write_end(100);
	write_begin(LEAF, 200);
	write_end(205);
	read_bytes(g_bytes);
	leaf = function("leaf").durations;
	ck_assert_ptr_nonnull(leaf);
	ck_assert_uint_eq(histogram_total(leaf), 3);
	ck_assert_uint_eq(histogram_quantile(leaf, 1), 5);
	ck_assert_uint_eq(histogram_quantile(leaf, 500), 40);
	ck_assert_uint_eq(leaf->max, 80);
	main = function("main").durations;
	ck_assert_ptr_nonnull(main);
	ck_assert_uint_eq(histogram_total(main), 1);
	ck_assert_uint_eq(main->max, 195);
	trace_sums_free(&g_sums);
}

TEST(waiting_is_time_of_no_function)
{
	write_head();
	write_begin(MAIN, 0);
	write_begin(LEAF, 100);
	write_begin(WAIT, 110);
	write_end(150);
	write_end(200);
	write_end(1000);
	read_bytes(g_bytes);
	expect_function("leaf", 1, 60, 60);
	expect_function("main", 1, 900, 960);
	ck_assert_uint_eq(g_sums->function_count, 2);
	ck_assert_uint_eq(g_sums->spans, 2);
	ck_assert_uint_eq(g_sums->waits, 1);
	ck_assert_uint_eq(g_sums->wait_ns, 40);
	trace_sums_free(&g_sums);
}

TEST(what_is_cut_anywhere_has_the_spans_before)
{
	uint64_t before = 0;

	write_head();
	write_begin(MAIN, 0);
	for (uint64_t i = 0; i < 20; i++) {
		write_begin(LEAF, 100 * i + 10);
		write_end(100 * i + 60);
	}
	write_end(3000);
	for (size_t bytes = 0; bytes <= g_bytes; bytes++) {
		struct sums_function leaf;

		read_bytes(bytes);
		leaf = function("leaf");
		ck_assert_uint_ge(g_sums->spans, before);
		before = g_sums->spans;
		ck_assert_uint_le(leaf.self_ns, leaf.calls * 50);
		ck_assert_uint_ge(leaf.self_ns + 50, leaf.calls * 50);
		ck_assert_uint_eq(g_sums->tree.totals.at +
					  g_sums->tree.totals.cut,
				  bytes);
		trace_sums_free(&g_sums);
	}
	ck_assert_uint_eq(before, 21);
}

TEST(a_file_that_is_not_there_is_an_error)
{
	ck_assert_int_eq(
		trace_sums_read("/nonexistent/trace", NULL, NULL, &g_sums),
		-ENOENT);
	ck_assert_ptr_null(g_sums);
}

/* --- ranges --- */

#define MODELS 50
#define RANGES 20 /* per model */

struct expected {
	uint64_t calls[MODEL_NAMES], self[MODEL_NAMES], total[MODEL_NAMES];
	uint64_t longest[MODEL_NAMES];
	uint64_t spans, open_before, open_after, waits, wait_ns, lost, paused;
	uint64_t threads, processes;
};

static bool has_outer_call(const struct model *model, uint32_t number)
{
	uint32_t name = model->slices[number].name;

	while ((number = model->slices[number].parent) != MODEL_NONE)
		if (model->slices[number].name == name)
			return true;
	return false;
}

/* A wait is not time of the functions around it. */
static void expect_wait(const struct model *model, uint32_t number,
			uint64_t part, struct expected *out)
{
	out->waits++;
	out->wait_ns += part;
	number = model->slices[number].parent;
	out->self[model->slices[number].name] -= part;
	for (; number != MODEL_NONE; number = model->slices[number].parent)
		if (!has_outer_call(model, number))
			out->total[model->slices[number].name] -= part;
}

static void expect_slice(const struct model *model, uint32_t number,
			 const struct time_range *range, struct expected *out)
{
	const struct model_slice *slice = &model->slices[number];
	uint64_t part = model_part(slice, range->from_ns, range->to_ns);

	if (slice->name == MODEL_WAIT) {
		expect_wait(model, number, part, out);
		return;
	}
	out->spans++;
	out->open_before += slice->begin < range->from_ns;
	out->open_after += slice->end >= range->to_ns;
	out->calls[slice->name]++;
	out->self[slice->name] += part;
	if (slice->parent != MODEL_NONE)
		out->self[model->slices[slice->parent].name] -= part;
	if (!has_outer_call(model, number))
		out->total[slice->name] += part;
	if (slice->ended && slice->end >= range->from_ns &&
	    slice->end < range->to_ns)
		out->longest[slice->name] =
			MAX(out->longest[slice->name], model_took(slice));
}

static void expect_missing(const struct model *model, const char *thread,
			   const struct time_range *range, struct expected *out)
{
	for (uint32_t i = 0; i < model->instant_count; i++) {
		const struct model_instant *one = &model->instants[i];

		if (!model_is_of(one->track, thread) ||
		    one->ns < range->from_ns || one->ns >= range->to_ns)
			continue;
		out->lost += one->lost;
		out->paused += one->paused;
	}
}

static struct expected expect(const struct model *model, const char *thread,
			      const struct time_range *range)
{
	struct expected out = { 0 };
	bool threads[MODEL_THREADS] = { false };

	for (uint32_t i = 0; i < model->count; i++) {
		const struct model_slice *slice = &model->slices[i];

		if (!model_is_of(slice->track, thread) ||
		    !model_in_range(slice, range->from_ns, range->to_ns))
			continue;
		threads[model_thread(slice->track)] = true;
		expect_slice(model, i, range, &out);
	}
	for (int i = 0; i < MODEL_THREADS; i++)
		out.threads += threads[i];
	out.processes = (threads[0] || threads[1]) + (threads[2] || threads[3]);
	expect_missing(model, thread, range, &out);
	return out;
}

static void check_functions(const struct trace_sums *sums,
			    const struct expected *expected)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < sums->function_count; i++) {
		const struct sums_function *one = &sums->functions[i];
		const char *text =
			trace_reader_text(sums->tree.reader, one->name);
		uint32_t name = 0;

		while (strcmp(model_names[name], text) != 0)
			name++;
		ck_assert_uint_eq(one->calls, expected->calls[name]);
		ck_assert_uint_eq(one->self_ns, expected->self[name]);
		ck_assert_uint_eq(one->total_ns, expected->total[name]);
		ck_assert_uint_eq(one->longest_ns, expected->longest[name]);
		seen++;
	}
	for (uint32_t name = 0; name < MODEL_WAIT; name++)
		seen -= expected->calls[name] > 0;
	ck_assert_uint_eq(seen, 0);
}

static void check_range(struct model *model)
{
	struct window_choice choice = { .thread = model_choice(model),
					.calls_only = model_random(model, 2) };
	struct expected expected;
	struct trace_sums *sums;

	model_range(model, &choice.range.from_ns, &choice.range.to_ns);
	expected = expect(model, choice.thread, &choice.range);
	ck_assert_int_eq(trace_sums_read(model->path, &choice, NULL, &sums), 0);
	ck_assert_int_eq(sums->tree.err, 0);
	check_functions(sums, &expected);
	ck_assert_uint_eq(sums->spans, expected.spans);
	ck_assert_uint_eq(sums->open_before, expected.open_before);
	ck_assert_uint_eq(sums->open_after, expected.open_after);
	ck_assert_uint_eq(sums->waits, expected.waits);
	ck_assert_uint_eq(sums->wait_ns, expected.wait_ns);
	ck_assert_uint_eq(sums->lost, expected.lost);
	ck_assert_uint_eq(sums->paused, expected.paused);
	ck_assert_uint_eq(sums->tree.thread_count - 1, expected.threads);
	ck_assert_uint_eq(sums->processes, expected.processes);
	trace_sums_free(&sums);
}

/* One model per test, because the time of a test is limited. */
TEST(a_random_range_has_what_looking_at_each_slice_finds, EACH(1, MODELS + 1))
{
	struct model *model = model_new((uint64_t)_i * 2654435761, _i % 2);

	for (int i = 0; i < RANGES; i++)
		check_range(model);
	model_free(model);
}

TEST(ranges_beside_each_other_add_up)
{
	struct model *model = model_new(77, false);
	uint64_t self = 0, all = 0;

	for (uint64_t at = 0; at < 64; at++) {
		uint64_t step = (model->last_ns - MODEL_START_NS) / 63 + 1;
		const struct window_choice choice = {
			.range = { MODEL_START_NS + at * step,
				   MODEL_START_NS + (at + 1) * step },
		};
		struct trace_sums *sums;

		ck_assert_int_eq(
			trace_sums_read(model->path, &choice, NULL, &sums), 0);
		for (uint32_t i = 0; i < sums->function_count; i++)
			self += sums->functions[i].self_ns;
		trace_sums_free(&sums);
	}
	for (uint32_t i = 0; i < model->count; i++) {
		const struct model_slice *slice = &model->slices[i];

		if (slice->parent == MODEL_NONE)
			all += slice->end - slice->begin;
		if (slice->name == MODEL_WAIT)
			all -= slice->end - slice->begin;
	}
	ck_assert_uint_gt(all, 0);
	ck_assert_uint_eq(self, all);
	model_free(model);
}

#define CALLS 1000

static void write_calls(void)
{
	FILE *file = fopen(TRACE_NAME, "we");

	write_head();
	for (uint64_t i = 0; i < CALLS; i++) {
		write_begin(LEAF, 10 * i);
		write_end(10 * i + 5);
	}
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(g_trace, 1, g_bytes, file), g_bytes);
	ck_assert_int_eq(fclose(file), 0);
}

TEST(sums_of_an_index_that_cannot_be_read_are_an_error)
{
	struct window_choice part = { .range = TIME_RANGE_ALL,
				      .calls_only = true };
	struct calls_choice all = { .range = TIME_RANGE_ALL };
	struct trace_index *index;
	struct trace_sums *sums = NULL;
	struct calls *calls = NULL;

	write_calls();
	part.index = all.index = index = make_index();
	ck_assert_int_eq(trace_sums_read(TRACE_NAME, &part, NULL, &sums), 0);
	ck_assert_uint_eq(sums->spans, CALLS);
	trace_sums_free(&sums);
	ck_assert_int_eq(calls_read(TRACE_NAME, &all, NULL, &calls), 0);
	ck_assert(calls->summed);
	calls_free(&calls);
	ck_assert_int_eq(truncate(INDEX_NAME, INDEX_HEADER_BYTES), 0);
	ck_assert_int_eq(trace_sums_read(TRACE_NAME, &part, NULL, &sums), -EIO);
	ck_assert_int_eq(calls_read(TRACE_NAME, &all, NULL, &calls), -EIO);
	trace_index_free(&index);
	ck_assert_int_eq(unlink(INDEX_NAME) | unlink(TRACE_NAME), 0);
}

/* -1: the sums report missing calls. *@enough: no allocation failed. */
static int64_t count_calls(const struct window_choice *choice, size_t blocks,
			   bool *enough)
{
	struct trace_sums *sums = NULL;
	int64_t calls = -1;
	int err;

	g_blocks = blocks;
	err = trace_sums_read(TRACE_NAME, choice, NULL, &sums);
	*enough = g_blocks != SIZE_MAX && g_blocks;
	g_blocks = SIZE_MAX;
	if (!err && !sums->tree.err && !sums->tree.totals.refused)
		calls = (int64_t)sums->spans;
	if (!err)
		trace_sums_free(&sums);
	return calls;
}

TEST(sums_without_memory_are_an_error, EACH(0, 2), UNLESS(HAS_ASAN || HAS_TSAN))
{
	struct window_choice part = { .range = TIME_RANGE_ALL,
				      .calls_only = true };
	struct trace_index *index;
	bool enough = false;

	write_calls();
	part.index = index = make_index();
	g_once = _i;
	for (size_t blocks = 0; !enough; blocks++) {
		int64_t calls = count_calls(&part, blocks, &enough);

		ck_assert_msg(calls == -1 || calls == CALLS,
			      "%d calls with %zu blocks", (int)calls, blocks);
	}
	trace_index_free(&index);
	ck_assert_int_eq(unlink(INDEX_NAME) | unlink(TRACE_NAME), 0);
}

/* The second node is the first one plus INT64_MAX. */
TEST(rows_of_no_node_make_no_sense)
{
	static const uint8_t bytes[] = { 2,    0,    0,	   0,	 0xfe, 0xff,
					 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					 0xff, 0x01, 0,	   0,	 0 };
	const struct index_sequence sequence = { .node_count = 2 };
	struct index_get rows = { .at = bytes, .end = bytes + sizeof(bytes) };
	struct index_row row;
	int64_t node = 0;

	ck_assert(index_row_next(&sequence, &rows, &node, &row));
	ck_assert_uint_eq(row.node, 1);
	ck_assert(!index_row_next(&sequence, &rows, &node, &row));
	ck_assert(rows.bad);
}

/* Sparse, so its 8 MiB take no time. */
static enum index_fault read_first_node(uint64_t number)
{
	uint8_t head[INDEX_HEADER_BYTES + INDEX_BATCH_BYTES] = INDEX_MAGIC;
	static const uint8_t block[] = { 1, 0, 0 };
	struct bytes node = { 0 }, items = { 0 };
	struct trace_index *index;
	struct index_batch batch;
	enum index_fault fault;
	FILE *file = fopen(INDEX_NAME, "we");

	bytes_varint(&node, number);
	bytes_put(&node, "\0\1", 2);
	index_put_item(&items, INDEX_BLOCK, block, sizeof(block));
	index_put_item(&items, INDEX_NODE, node.at, node.count);
	batch = (struct index_batch){ .bytes = (uint32_t)items.count,
				      .tail_crc = index_crc(NULL, 0) };
	head[sizeof(INDEX_MAGIC) - 1] = INDEX_VERSION;
	index_put_batch(head + INDEX_HEADER_BYTES, &batch, items.at);
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(head, 1, sizeof(head), file), sizeof(head));
	ck_assert_uint_eq(fwrite(items.at, 1, items.count, file), items.count);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(truncate(INDEX_NAME, 8 << 20), 0);
	file = fopen(TRACE_NAME, "we");
	ck_assert_int_eq(fclose(file), 0);
	bytes_release(&node);
	bytes_release(&items);
	fault = trace_index_read(INDEX_NAME, TRACE_NAME, &index);
	if (!fault)
		trace_index_free(&index);
	ck_assert_int_eq(unlink(INDEX_NAME) | unlink(TRACE_NAME), 0);
	return fault;
}

TEST(nodes_take_no_more_memory_than_file)
{
	ck_assert_int_eq(read_first_node(1), INDEX_FINE);
	ck_assert_int_eq(read_first_node(2), INDEX_DAMAGED);
	ck_assert_int_eq(read_first_node(5000000), INDEX_DAMAGED);
}

SUITE(scratch_enter, scratch_leave);
