/* SPDX-License-Identifier: Apache-2.0
 *
 * The one way to make a file in the folder of a recording.
 */
#include "collector/output/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

static int g_dir_fd;

static bool is_there(const char *name)
{
	struct stat status;

	return fstatat(g_dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static void expect_folder(unsigned int own, unsigned int foreign)
{
	struct own_files files;

	ck_assert_int_eq(own_files_look(g_dir_fd, &files), 0);
	ck_assert_uint_eq(files.own, own);
	ck_assert_uint_eq(files.foreign, foreign);
}

static void setup(void)
{
	g_dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(g_dir_fd, 0);
	own_files_remove(g_dir_fd);
	expect_folder(0, 0);
}

static void teardown(void)
{
	close(g_dir_fd);
}

/* What the table does not have, or has as something else, cannot be made. */
START_TEST(only_what_the_table_has)
{
	static const char *const wrong[] = {
		"new.pb.gz",
		"heap.pb.gz.new",
		".summary.json.new",
		"../wall.pb.gz",
		"",
		"trace.pftrace/",
		"wall.2026.001.pb.gz",
		".socket",
		"socket",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		ck_assert_int_eq(own_files_create(g_dir_fd, wrong[i], 0),
				 -EINVAL);
		ck_assert_int_eq(own_files_keep(g_dir_fd, wrong[i]), -EINVAL);
		own_files_discard(g_dir_fd, wrong[i]);
	}
	expect_folder(0, 0);
}
END_TEST

/* At every moment the folder is perfrec's alone, and can be cleared. */
START_TEST(what_is_made_is_own)
{
	static const char *const names[] = {
		"trace.pftrace",
		"summary.json",
		"wall.pb.gz",
		"cpu.pb.gz",
		"heap.pb.gz",
		"heap-peak.pb.gz",
		"offcpu.pb.gz",
		"span.pb.gz",
		"heap.20261122T051500.123.pb.gz",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int fd = own_files_create(g_dir_fd, names[i], 0);

		ck_assert_int_ge(fd, 0);
		close(fd);
		expect_folder((unsigned int)i + 1, 0);
		ck_assert_int_eq(is_there(names[i]), i == 0);
		ck_assert_int_eq(own_files_create(g_dir_fd, names[i], 0),
				 -EEXIST);
		ck_assert_int_eq(own_files_keep(g_dir_fd, names[i]), 0);
		ck_assert(is_there(names[i]));
		expect_folder((unsigned int)i + 1, 0);
	}
	own_files_remove(g_dir_fd);
	expect_folder(0, 0);
}
END_TEST

START_TEST(discarded_is_gone)
{
	close(own_files_create(g_dir_fd, "wall.pb.gz", 0));
	own_files_discard(g_dir_fd, "wall.pb.gz");
	close(own_files_create(g_dir_fd, "trace.pftrace", O_APPEND));
	own_files_discard(g_dir_fd, "trace.pftrace");
	expect_folder(0, 0);
	/* Nor is what could not get its name left behind. */
	close(own_files_create(g_dir_fd, "wall.pb.gz", 0));
	ck_assert_int_eq(mkdirat(g_dir_fd, "wall.pb.gz", 0700), 0);
	ck_assert_int_eq(own_files_keep(g_dir_fd, "wall.pb.gz"), -EISDIR);
	ck_assert(!is_there(".wall.pb.gz.new"));
	unlinkat(g_dir_fd, "wall.pb.gz", AT_REMOVEDIR);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("own_files");
	TCase *tests = suite_case(suite, "files");
	int failed;

	scratch_enter();
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, only_what_the_table_has);
	tcase_add_test(tests, what_is_made_is_own);
	tcase_add_test(tests, discarded_is_gone);
	failed = suite_run(suite);
	scratch_leave();
	return failed;
}
