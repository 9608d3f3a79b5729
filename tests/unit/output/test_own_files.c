/* SPDX-License-Identifier: Apache-2.0
 *
 * All files of a recording's folder are created here.
 */
#include "collector/output/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

SUITE(scratch_enter, scratch_leave);

FIXTURE(setup, teardown);

TEST(only_what_the_table_has)
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

/* At any time the folder counts as perfrec's own and can be cleared. */
TEST(what_is_made_is_own)
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

TEST(discarded_is_gone)
{
	close(own_files_create(g_dir_fd, "wall.pb.gz", 0));
	own_files_discard(g_dir_fd, "wall.pb.gz");
	close(own_files_create(g_dir_fd, "trace.pftrace", O_APPEND));
	own_files_discard(g_dir_fd, "trace.pftrace");
	expect_folder(0, 0);
	close(own_files_create(g_dir_fd, "wall.pb.gz", 0));
	ck_assert_int_eq(mkdirat(g_dir_fd, "wall.pb.gz", 0700), 0);
	ck_assert_int_eq(own_files_keep(g_dir_fd, "wall.pb.gz"), -EISDIR);
	ck_assert(!is_there(".wall.pb.gz.new"));
	unlinkat(g_dir_fd, "wall.pb.gz", AT_REMOVEDIR);
}

static void put_file(const char *name, const char *text)
{
	int fd = openat(g_dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
	close(fd);
}

static void put_folder(const char *name)
{
	ck_assert_int_eq(mkdirat(g_dir_fd, name, 0700), 0);
}

#define ONE "snapshots/0001-101500-call"
#define WHY "{\"perfrec\": {}}"

static void put_snapshots(void)
{
	put_folder("snapshots");
	put_folder(ONE);
	put_file(ONE "/trace.pftrace", "");
	put_file(ONE "/why.json", WHY);
	put_folder("snapshots/.12345-235959-asked.new");
	put_file("snapshots/.12345-235959-asked.new/.why.json.new", "{");
}

TEST(snapshots_are_own)
{
	struct own_files files;

	put_snapshots();
	expect_folder(1, 0);
	ck_assert_int_eq(own_files_look(g_dir_fd, &files), 0);
	ck_assert(files.recorded);
	ck_assert(!files.summarized);
	own_files_remove(g_dir_fd);
	ck_assert(!is_there("snapshots"));
}

TEST(what_is_beside_snapshots_keeps_them)
{
	static const char *const others[] = {
		"snapshots/notes",
		"snapshots/001-101500-call",
		"snapshots/0001-10150-call",
		"snapshots/0001-101500-",
		"snapshots/0001-101500-Call",
		"snapshots/.0001-101500-call",
		ONE "/notes",
		ONE "/trace.pftrace.gz",
		ONE "/snapshots",
	};

	put_snapshots();
	for (size_t i = 0; i < 2 * ARRAY_SIZE(others); i++) {
		const char *other = others[i / 2];

		if (i % 2)
			put_folder(other);
		else
			put_file(other, "mine");
		expect_folder(0, 1);
		own_files_remove(g_dir_fd);
		ck_assert(is_there(ONE "/trace.pftrace"));
		ck_assert_int_eq(
			unlinkat(g_dir_fd, other, i % 2 ? AT_REMOVEDIR : 0), 0);
	}
	ck_assert_int_eq(renameat(g_dir_fd, "snapshots", g_dir_fd, "moved"), 0);
	ck_assert_int_eq(symlinkat("moved", g_dir_fd, "snapshots"), 0);
	expect_folder(0, 2);
	own_files_remove(g_dir_fd);
	ck_assert(is_there("moved/0001-101500-call/why.json"));
	unlinkat(g_dir_fd, "snapshots", 0);
	ck_assert_int_eq(renameat(g_dir_fd, "moved", g_dir_fd, "snapshots"), 0);
	own_files_remove(g_dir_fd);
	expect_folder(0, 0);
}

TEST(one_snapshot_is_removed)
{
	int fd;

	put_snapshots();
	fd = openat(g_dir_fd, "snapshots", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(own_files_remove_snapshot(fd, "notes"), -EINVAL);
	ck_assert_int_eq(own_files_remove_snapshot(fd, "0002-101500-call"),
			 -ENOENT);
	put_file(ONE "/notes", "mine");
	ck_assert_int_eq(own_files_remove_snapshot(fd, "0001-101500-call"),
			 -ENOTEMPTY);
	ck_assert(is_there(ONE "/trace.pftrace"));
	unlinkat(g_dir_fd, ONE "/notes", 0);
	ck_assert_int_eq(own_files_remove_snapshot(fd, "0001-101500-call"), 0);
	ck_assert(!is_there(ONE));
	ck_assert(is_there("snapshots/.12345-235959-asked.new"));
	close(fd);
	own_files_remove(g_dir_fd);
}

#define WINDOW "17-4"
#define HIDDEN ".18-4"
#define MARK WINDOW ".sent-0123456789abcdef"

/* A window that one of several servers has, and another that is not whole. */
static void put_windows(void)
{
	int fd;

	put_folder(".push");
	put_file(".push/push.json", "{}");
	put_file(".push/" WINDOW, "{}");
	put_file(".push/" MARK, "");
	fd = openat(g_dir_fd, ".push", O_RDONLY | O_DIRECTORY);
	close(own_files_create_window(fd, HIDDEN));
	ck_assert_int_eq(own_files_create_window(fd, HIDDEN), -EEXIST);
	ck_assert_int_eq(own_files_create_window(fd, "notes"), -EINVAL);
	close(fd);
	ck_assert(is_there(".push/" HIDDEN));
}

TEST(windows_are_own)
{
	put_windows();
	expect_folder(1, 0);
	ck_assert_uint_eq(own_files_remove_left(g_dir_fd).windows, 1);
	ck_assert(!is_there(".push/" HIDDEN));
	ck_assert(is_there(".push/" WINDOW));
	own_files_remove(g_dir_fd);
	ck_assert(!is_there(".push"));
}

TEST(what_is_beside_windows_keeps_them)
{
	static const char *const others[] = {
		".push/notes",
		".push/17",
		".push/17-",
		".push/17-4.pb.gz",
		".push/17-4.sent-notes",
		".push/.sent-0123456789abcdef",
	};

	put_windows();
	for (size_t i = 0; i < 2 * ARRAY_SIZE(others); i++) {
		const char *other = others[i / 2];

		if (i % 2)
			put_folder(other);
		else
			put_file(other, "mine");
		expect_folder(0, 1);
		own_files_remove(g_dir_fd);
		ck_assert(is_there(".push/" WINDOW));
		ck_assert_int_eq(
			unlinkat(g_dir_fd, other, i % 2 ? AT_REMOVEDIR : 0), 0);
	}
	/* A folder is no window, whatever its name. */
	put_folder(".push/19-4");
	expect_folder(0, 1);
	unlinkat(g_dir_fd, ".push/19-4", AT_REMOVEDIR);
	own_files_remove(g_dir_fd);
	expect_folder(0, 0);
}

TEST(one_window_is_removed)
{
	int fd;

	put_windows();
	put_folder(".push/19-4");
	fd = openat(g_dir_fd, ".push", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(own_files_remove_window(fd, "push.json"), -EINVAL);
	ck_assert_int_eq(own_files_remove_window(fd, "19-4"), -EINVAL);
	ck_assert_int_eq(own_files_remove_window(fd, WINDOW), 0);
	ck_assert(!is_there(".push/" WINDOW));
	ck_assert(is_there(".push/" MARK));
	close(fd);
	unlinkat(g_dir_fd, ".push/19-4", AT_REMOVEDIR);
	own_files_remove(g_dir_fd);
	expect_folder(0, 0);
}

/* Other tools write a file of this name, too. */
TEST(another_why_is_foreign)
{
	put_file("why.json", "{\"because\": 1}");
	expect_folder(0, 1);
	own_files_remove(g_dir_fd);
	ck_assert(is_there("why.json"));
	put_file("why.json", WHY);
	expect_folder(1, 0);
	own_files_remove(g_dir_fd);
	ck_assert(!is_there("why.json"));
}
