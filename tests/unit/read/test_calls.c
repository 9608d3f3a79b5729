/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over traces that the writers of collector/trace wrote.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/read/calls.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "tests/unit/trace_rig.h"

#define SEQUENCE 5

static struct calls *g_calls;

static void write_head(void)
{
	const struct out_name names[] = { { 1, "main" }, { 2, "leaf" } };

	write_trace_head(SEQUENCE, 8, names, ARRAY_SIZE(names));
}

static void read_bytes(size_t bytes)
{
	char path[32];
	int fd = keep_trace(bytes, path);

	ck_assert_int_eq(calls_read(path, NULL, NULL, &g_calls), 0);
	close(fd);
}

static struct time_cell sum_of(const char *const *names)
{
	struct time_cell sum = { 0 };

	for (uint32_t i = 0; i < g_calls->cells.count; i++) {
		const struct time_cell *cell = &g_calls->cells.cells[i];
		uint32_t node = time_cells_node(cell), depth = 0;

		while (names[depth])
			depth++;
		for (; node && depth; depth--) {
			const struct call_node *at =
				call_tree_node(&g_calls->tree, node);

			if (strcmp(trace_reader_text(g_calls->tree.reader,
						     at->name),
				   names[depth - 1]))
				break;
			node = at->parent;
		}
		if (node || depth)
			continue;
		sum.ns += cell->ns;
		sum.calls += cell->calls;
	}
	return sum;
}
#define SUM_OF(...) sum_of((const char *const[]){ __VA_ARGS__, NULL })

TEST(calls_have_their_own_time_and_number)
{
	write_head();
	write_begin(1, 10);
	write_begin(2, 20);
	write_end(25);
	write_begin(2, 40000);
	write_end(90000);
	write_end(100000);
	read_bytes(g_bytes);
	ck_assert_uint_eq(SUM_OF("main").ns, 99990 - 5 - 50000);
	ck_assert_uint_eq(SUM_OF("main").calls, 1);
	ck_assert_uint_eq(SUM_OF("main", "leaf").ns, 50005);
	ck_assert_uint_eq(SUM_OF("main", "leaf").calls, 2);
	ck_assert_uint_eq(SUM_OF("leaf").calls, 0);
	ck_assert_uint_eq(g_calls->tree.thread_count, 2);
	ck_assert_int_eq(g_calls->tree.threads[1].track->tid, 8);
	ck_assert_uint_eq(g_calls->timeline.level[0].count, 3);
	calls_free(&g_calls);
	ck_assert_ptr_null(g_calls);
}

TEST(calls_of_a_trace_that_is_cut_anywhere_are_those_before)
{
	write_head();
	write_begin(1, 0);
	for (uint64_t i = 0; i < 20; i++) {
		write_begin(2, 100 * i + 10);
		write_end(100 * i + 60);
	}
	write_end(3000);
	for (size_t bytes = 0; bytes <= g_bytes; bytes += 3) {
		struct time_cell sum;

		read_bytes(bytes);
		sum = SUM_OF("main", "leaf");
		ck_assert_uint_le(sum.calls, 20);
		ck_assert_uint_le(sum.ns, sum.calls * 50);
		ck_assert_uint_ge(sum.ns + 50, sum.calls * 50);
		calls_free(&g_calls);
	}
}

/* More processes at a time than there are curves. */
TEST(calls_have_no_curve_without_its_first_points)
{
	const uint32_t count = CALLS_CURVES + 10;

	write_head();
	wrote(out_track_sequence(ROOM, 9));
	for (uint32_t i = 0; i < count; i++)
		wrote(out_track_counter(
			ROOM, &(struct out_counter){ .uuid = 1000 + i,
						     .parent = PROCESS,
						     .name = CALLS_IN_USE_NAME,
						     .multiplier = 1 }));
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < count; i++)
			wrote(out_track_value(ROOM, 9, 1000 + i,
					      START_NS + round * 1000 + i,
					      1 + 10 * round));
	read_bytes(g_bytes);
	ck_assert_uint_eq(g_calls->curve_count, CALLS_CURVES);
	for (uint32_t i = 0; i < CALLS_CURVES; i++) {
		ck_assert_uint_eq(g_calls->curves[i]->count, 3);
		ck_assert_uint_eq(g_calls->curves[i]->points[0].value, 1);
	}
	ck_assert_uint_eq(g_calls->curves_refused, 3 * 10);
	calls_free(&g_calls);
}

/* Writes a counter of @parent with two values, @value at first. */
static void write_counter(uint64_t uuid, uint64_t parent, const char *name,
			  int64_t value)
{
	wrote(out_track_counter(ROOM,
				&(struct out_counter){ .uuid = uuid,
						       .parent = parent,
						       .name = name,
						       .multiplier = 1 }));
	wrote(out_track_value(ROOM, 9, uuid, START_NS + 10, value));
	wrote(out_track_value(ROOM, 9, uuid, START_NS + 20, 1));
}

/* @_i 0: whole; 1: without the others; 2: of another process than the curve. */
TEST(calls_have_the_bands_of_the_last_process_with_any, EACH(0, 3))
{
	const uint64_t other = PROCESS + 1000;

	write_head();
	wrote(out_track_sequence(ROOM, 9));
	/* They fill all places of other counters. */
	for (uint32_t i = 0; i < CALLS_CURVES; i++)
		write_counter(2000 + i, PROCESS, CALLS_IN_USE_NAME, 5);
	write_counter(3000, other, CALLS_BAND_NAME "early", 70);
	write_counter(3001, other, CALLS_OTHERS_NAME, 70);
	if (_i < 2) {
		write_counter(3002, PROCESS, CALLS_OTHERS_NAME, 3);
		write_counter(3003, PROCESS, CALLS_BAND_NAME "grow", 2);
	}
	/* The tail of the earlier one comes in vain. */
	wrote(out_track_value(ROOM, 9, 3000, START_NS + 30, 9));
	if (_i == 1)
		for (size_t i = 0; i + 8 < g_bytes; i++)
			if (!memcmp(g_trace + i, "[others]", 8))
				g_trace[i] = '(';
	read_bytes(g_bytes);
	ck_assert_uint_eq(g_calls->curve_count, CALLS_CURVES);
	ck_assert_uint_eq(g_calls->curves_refused, 0);
	ck_assert_uint_eq(g_calls->band_count, _i ? 0 : 2);
	if (!_i) {
		ck_assert_uint_eq(g_calls->bands[0]->track->parent, PROCESS);
		ck_assert_str_eq(calls_curve_name(g_calls, g_calls->bands[0]),
				 CALLS_BAND_NAME "grow");
		ck_assert_uint_eq(g_calls->bands[0]->points[0].value, 2);
		ck_assert_uint_eq(g_calls->bands[1]->points[0].value, 3);
	}
	calls_free(&g_calls);
}

TEST(calls_of_deep_recursion_are_bounded)
{
	write_head();
	for (uint64_t i = 0; i < 3000; i++)
		write_begin(2, i);
	for (uint64_t i = 0; i < 3000; i++)
		write_end(5000 + i);
	read_bytes(g_bytes);
	ck_assert_uint_le(g_calls->tree.nodes.count, 1025);
	ck_assert_uint_gt(g_calls->tree.totals.refused, 0);
	calls_free(&g_calls);
}

/* Writes a loss like replay_loss(): behind the last event, at @ns. */
static void write_gap(const char *key, int64_t spans, uint64_t ns)
{
	struct out_attribute count = { .key = key, .number = spans };
	struct out_event event = { .type = OUT_INSTANT,
				   .sequence = SEQUENCE,
				   .delta_ns =
					   START_NS + ns - g_encoder.last_ns,
				   .name = "a gap",
				   .arguments = &count,
				   .argument_count = 1 };

	wrote(out_perfetto_event(ROOM, &event));
	g_encoder.last_ns = START_NS + ns;
}

static uint64_t gap_of(enum time_gap_kind kind, uint64_t from, uint64_t to)
{
	const struct time_cells *gaps = &g_calls->gaps;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < gaps->count; i++) {
		const struct time_cell *cell = &gaps->cells[i];
		uint64_t ns =
			time_cells_begin(gaps, time_cells_bucket(gaps, cell));

		if (time_cells_node(cell) == 1 + (uint32_t)kind &&
		    ns >= START_NS + from && ns < START_NS + to)
			sum += cell->calls;
	}
	return sum;
}

TEST(calls_that_are_lost_are_spread_up_to_the_next_event)
{
	write_head();
	write_begin(1, 0);
	write_gap(TIME_GAP_LOST_NAME, 1000, 100000);
	write_gap(TIME_GAP_PAUSED_NAME, 70, 100000);
	write_gap("bytes", 5, 100000);
	write_begin(2, 300000);
	write_end(310000);
	write_gap(TIME_GAP_LOST_NAME, 7, 310000);
	write_end(310000);
	read_bytes(g_bytes);
	ck_assert_uint_eq(gap_of(TIME_GAP_LOST, 0, 90000), 0);
	ck_assert_uint_eq(gap_of(TIME_GAP_LOST, 0, 302000), 1000);
	ck_assert_uint_ge(gap_of(TIME_GAP_LOST, 0, 200000), 480);
	ck_assert_uint_le(gap_of(TIME_GAP_LOST, 0, 200000), 520);
	ck_assert_uint_eq(gap_of(TIME_GAP_LOST, 0, 400000), 1007);
	ck_assert_uint_eq(gap_of(TIME_GAP_PAUSED, 0, 400000), 70);
	calls_free(&g_calls);
}

TEST(calls_of_a_file_that_is_not_there)
{
	ck_assert_int_eq(calls_read("/nonexistent/trace", NULL, NULL, &g_calls),
			 -ENOENT);
	ck_assert_ptr_null(g_calls);
}
