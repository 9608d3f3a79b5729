/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces as the writers of collector/trace write them, summed up as a summary.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/read/trace_sums.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"
#include "tests/unit/trace_rig.h"

#define SEQUENCE 5
#define MAIN 1
#define LEAF 2
#define WAIT 3

static struct trace_sums *g_sums;

static void write_head(void)
{
	const struct out_clocks clocks = { .boottime = START_NS };
	const uint8_t uuid[16] = { 1 };
	char *command[] = { "./app", NULL };
	const struct out_process process = {
		.uuid = PROCESS, .pid = 7, .name = "app", .cmdline = command
	};
	const struct out_thread thread = { .uuid = THREAD,
					   .sequence = SEQUENCE,
					   .pid = 7,
					   .tid = 8,
					   .name = "worker",
					   .start_ns = START_NS };
	const struct out_name names[] = {
		{ MAIN, "main" },
		{ LEAF, "leaf" },
		{ WAIT, "perfrec: waiting for collector" }
	};

	g_bytes = 0;
	wrote(out_perfetto_preamble(ROOM, &clocks, uuid, NULL, 0));
	wrote(out_perfetto_process(ROOM, &process));
	wrote(out_perfetto_thread(ROOM, &thread));
	wrote(out_perfetto_names(ROOM, SEQUENCE, names, ARRAY_SIZE(names)));
	encoder_init(&g_encoder, SEQUENCE, START_NS);
}

static void read_bytes(size_t bytes)
{
	char path[32];
	int fd = memfd_create("trace", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, g_trace, bytes), (ssize_t)bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ck_assert_int_eq(trace_sums_read(path, NULL, &g_sums), 0);
	close(fd);
}

/* All zero: there is no such function. */
static struct sums_function function(const char *name)
{
	for (uint32_t i = 0; i < g_sums->function_count; i++)
		if (strcmp(trace_reader_text(g_sums->reader,
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

START_TEST(outermost_calls_make_the_total_time)
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
	ck_assert_uint_eq(g_sums->thread_count, 2);
	ck_assert_int_eq(g_sums->threads[1].track->tid, 8);
	trace_sums_free(&g_sums);
	ck_assert_ptr_null(g_sums);
}
END_TEST

/* All calls, recursive ones too, and those that are open at the end. */
START_TEST(durations_are_those_of_all_calls)
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
END_TEST

START_TEST(waiting_is_time_of_the_function_that_waited)
{
	write_head();
	write_begin(MAIN, 0);
	write_begin(LEAF, 100);
	write_begin(WAIT, 110);
	write_end(150);
	write_end(200);
	write_end(1000);
	read_bytes(g_bytes);
	expect_function("leaf", 1, 100, 100);
	expect_function("main", 1, 900, 1000);
	ck_assert_uint_eq(g_sums->function_count, 2);
	ck_assert_uint_eq(g_sums->spans, 2);
	ck_assert_uint_eq(g_sums->waits, 1);
	ck_assert_uint_eq(g_sums->wait_ns, 40);
	trace_sums_free(&g_sums);
}
END_TEST

START_TEST(what_is_cut_anywhere_has_the_spans_before)
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
		ck_assert_uint_eq(g_sums->totals.at + g_sums->totals.cut,
				  bytes);
		trace_sums_free(&g_sums);
	}
	ck_assert_uint_eq(before, 21);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_an_error)
{
	ck_assert_int_eq(trace_sums_read("/nonexistent/trace", NULL, &g_sums),
			 -ENOENT);
	ck_assert_ptr_null(g_sums);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_sums");
	TCase *tcase = suite_case(suite, "trace_sums");

	tcase_add_test(tcase, outermost_calls_make_the_total_time);
	tcase_add_test(tcase, durations_are_those_of_all_calls);
	tcase_add_test(tcase, waiting_is_time_of_the_function_that_waited);
	tcase_add_test(tcase, what_is_cut_anywhere_has_the_spans_before);
	tcase_add_test(tcase, a_file_that_is_not_there_is_an_error);
	return suite_run(suite);
}
