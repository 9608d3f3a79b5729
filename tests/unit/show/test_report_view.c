/* SPDX-License-Identifier: Apache-2.0
 *
 * `perfrec report --view` on hand-made profiles of CPU time and waits.
 */
#include "collector/show/report_view.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <unistd.h>

#include "collector/output/out_pprof.h"
#include "collector/output/own_files.h"
#include "collector/read/summary_read.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define MS 1000000

/* main calls take, which waits for a mutex and an unknown object. main itself
 * waits for a pipe. */
static void put_waits(struct out_pprof *out)
{
	static const char *const names[] = { "main", "take", "[mutex 0x10]",
					     "[pipe:[7]]", "[unknown]" };

	out_pprof_mapping(out, &(struct out_mapping){ .id = 1,
						      .path = "/bin/prog",
						      .build_id = "" });
	for (uint64_t id = 1; id <= 5; id++) {
		const struct out_line line = { id, 10 * id };

		out_pprof_function(out, &(struct out_function){
						id, names[id - 1], "p.c", 1 });
		out_pprof_location(out, &(struct out_location){
						id, 1, 0x1000 * id, &line, 1 });
	}
	out_pprof_sample(out, (uint64_t[]){ 3, 2, 1 }, 3,
			 (int64_t[]){ 4, 20 * MS }, NULL);
	out_pprof_sample(out, (uint64_t[]){ 5, 2, 1 }, 3,
			 (int64_t[]){ 100, 10 * MS }, NULL);
	out_pprof_sample(out, (uint64_t[]){ 4, 1 }, 2,
			 (int64_t[]){ 2, 50 * MS }, NULL);
}

static void write_profile(const char *name, const struct out_value_type *types,
			  void (*put)(struct out_pprof *out))
{
	const struct out_head head = { .types = types,
				       .count = 2,
				       .default_type = 1,
				       .period_type = types[1] };
	const struct out_profile_end end = { 1, 2, NULL, 0 };
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct out_pprof *out;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(out_pprof_new(fd, name, &head, &out), 0);
	put(out);
	ck_assert_int_eq(out_pprof_close(&out, 0, &end), 0);
	close(fd);
}

static void write_waits(void)
{
	static const struct out_value_type types[] = {
		{ "waits", "count" }, { "blocked", "nanoseconds" }
	};

	write_profile(OFFCPU_PROFILE_NAME, types, put_waits);
}

/* Calls without times. */
static void put_counted(struct out_pprof *out)
{
	out_pprof_function(out, &(struct out_function){ 1, "f", "p.c", 1 });
	out_pprof_location(
		out, &(struct out_location){ 1, 0, 0,
					     &(struct out_line){ 1, 1 }, 1 });
	out_pprof_sample(out, (uint64_t[]){ 1 }, 1, (int64_t[]){ 4, 0 }, NULL);
}

static struct summary *make_summary(int threads)
{
	struct summary *summary;
	json_t *document =
		json_pack("{s:{s:s}, s:{s:b}, s:{s:i}}", "perfrec", "version",
			  "1", "settings", "sched", threads > 0, "totals",
			  "sched_threads", threads);

	ck_assert_int_eq(summary_from_document(document, &summary), 0);
	return summary;
}

/* The caller frees the text. On failure returns NULL and sets *@err. */
static char *print_view(const char *name, int threads, bool stacks, int *err)
{
	const struct report_view_options options = {
		.view = report_view_find(name),
		.dir = ".",
		.stacks = stacks,
	};
	struct summary *summary = make_summary(threads);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(options.view);
	*err = report_view_print(summary, &options, out);
	fclose(out);
	summary_free(&summary);
	if (*err) {
		free(text);
		text = NULL;
	}
	return text;
}

static void expect_in_order(const char *text, const char *const *parts)
{
	const char *at = text;

	for (; *parts; parts++) {
		at = strstr(at, *parts);
		ck_assert_msg(at != NULL, "no '%s', or too early, in\n%s",
			      *parts, text);
		at += strlen(*parts);
	}
}

FIXTURE(scratch_enter, scratch_leave);

TEST(wait_view_has_a_row_for_each_object)
{
	static const char *const rows[] = { "blocked 80.0 ms, waits 106",
					    "mean",
					    "object\n",
					    "50.0 ms   62.5",
					    " 2    ",
					    "25.0 ms",
					    "[pipe:[7]]",
					    "20.0 ms",
					    " 4    ",
					    "5.00 ms",
					    "[mutex 0x10]",
					    "10.0 ms",
					    "100    ",
					    "100 us",
					    "[unknown]",
					    NULL };
	char *text;
	int err;

	write_waits();
	text = print_view("wait", 1, false, &err);
	ck_assert_int_eq(err, 0);
	expect_in_order(text, rows);
	ck_assert_ptr_null(strstr(text, "take"));
	free(text);
}

TEST(wait_view_has_the_paths_to_an_object)
{
	static const char *const rows[] = {
		"50.0 ms",	"[pipe:[7]]", "main", "20.0 ms", "5.00 ms",
		"[mutex 0x10]", "take",	      "main", NULL
	};
	char *text;
	int err;

	write_waits();
	text = print_view("wait", 1, true, &err);
	ck_assert_int_eq(err, 0);
	expect_in_order(text, rows);
	free(text);
}

/* _i: the recording had waits. */
TEST(wait_view_without_its_file_is_refused, EACH(0, 2))
{
	int err;

	ck_assert_ptr_null(print_view("wait", _i, false, &err));
	ck_assert_int_eq(err, -ENOENT);
}

TEST(a_view_names_the_key_that_is_0)
{
	static const struct out_value_type types[] = {
		{ "calls", "count" }, { "wall", "nanoseconds" }
	};
	char *text;
	int err;

	write_profile(SPAN_PROFILE_NAME, types, put_counted);
	text = print_view("span", 0, false, &err);
	ck_assert_int_eq(err, 0);
	ck_assert_ptr_nonnull(
		strstr(text, "\n  by calls, because self time is 0\n"));
	free(text);
}
