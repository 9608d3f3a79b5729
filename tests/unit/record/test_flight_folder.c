/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders of snapshots are written completely or not at all. The oldest are
 * removed, but never other people's files.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/output/own_files.h"
#include "collector/record/flight_folder.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define MUCH (1u << 30)

static int g_dir_fd;
static struct flight_folder *g_folder;

static void setup(void)
{
	g_dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(g_dir_fd, 0);
	own_files_remove(g_dir_fd);
}

static void teardown(void)
{
	flight_folder_free(&g_folder);
	ck_assert_ptr_null(g_folder);
	own_files_remove(g_dir_fd);
	close(g_dir_fd);
}

static void begin(uint32_t most, uint64_t most_bytes)
{
	ck_assert_int_eq(
		flight_folder_new(g_dir_fd, most, most_bytes, &g_folder), 0);
}

static void put_trace(const struct flight_draft *draft, size_t bytes)
{
	int fd = own_files_create(draft->fd, TRACE_NAME, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
}

static int make_one(const char *why, size_t bytes, struct flight_draft *draft)
{
	ck_assert_int_eq(flight_folder_begin(g_folder, why, draft), 0);
	put_trace(draft, bytes);
	return flight_folder_keep(g_folder, draft);
}

static size_t count_of(const char *pattern)
{
	glob_t found;
	size_t count;

	ck_assert_int_ne(glob(pattern, GLOB_PERIOD, NULL, &found),
			 GLOB_NOSPACE);
	count = found.gl_pathc;
	globfree(&found);
	return count;
}

static size_t all(void)
{
	return count_of("snapshots/*[a-z]*");
}

SUITE(scratch_enter, scratch_leave);

FIXTURE(setup, teardown);

TEST(flight_folder_has_each_whole_or_not_at_all)
{
	struct flight_draft draft;
	struct own_files files;

	begin(5, MUCH);
	ck_assert_uint_eq(all(), 0);
	ck_assert_int_eq(flight_folder_begin(g_folder, "call", &draft), 0);
	put_trace(&draft, 10);
	ck_assert_uint_eq(count_of("snapshots/[!.]*"), 0);
	ck_assert_uint_eq(count_of("snapshots/.0001-*-call.new"), 1);
	ck_assert_int_eq(own_files_look(g_dir_fd, &files), 0);
	ck_assert_uint_eq(files.foreign, 0);
	ck_assert_int_eq(flight_folder_keep(g_folder, &draft), 0);
	ck_assert_uint_eq(count_of("snapshots/0001-*-call/trace.pftrace"), 1);
	ck_assert_uint_eq(all(), 1);
	ck_assert_int_eq(flight_folder_begin(g_folder, "asked", &draft), 0);
	put_trace(&draft, 10);
	flight_folder_discard(g_folder, &draft);
	ck_assert_uint_eq(all(), 1);
	ck_assert_int_eq(own_files_look(g_dir_fd, &files), 0);
	ck_assert_uint_eq(files.foreign, 0);
}

TEST(flight_folder_keeps_the_newest)
{
	struct flight_folder_sums sums;
	struct flight_draft draft;

	begin(3, MUCH);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(make_one("call", 100, &draft), 0);
	sums = flight_folder_sums(g_folder);
	ck_assert_uint_eq(sums.count, 3);
	ck_assert_uint_eq(sums.bytes, 300);
	ck_assert_uint_eq(sums.written, 5);
	ck_assert_uint_eq(sums.removed, 2);
	ck_assert_uint_eq(all(), 3);
	ck_assert_uint_eq(count_of("snapshots/000[345]-*"), 3);
	ck_assert_int_eq(strncmp(flight_folder_name(g_folder, 0), "0003-", 5),
			 0);
	ck_assert_str_eq(flight_folder_name(g_folder, 2), draft.name);
}

TEST(flight_folder_has_no_more_bytes_than_it_may)
{
	struct flight_draft draft;

	begin(10, 1000);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(make_one("call", 300, &draft), 0);
	ck_assert_uint_eq(count_of("snapshots/000[234]-*"), 3);
	ck_assert_uint_eq(all(), 3);
	ck_assert_int_eq(make_one("call", 1001, &draft), -E2BIG);
	ck_assert_uint_eq(all(), 3);
	ck_assert_int_eq(make_one("call", 1000, &draft), 0);
	ck_assert_uint_eq(all(), 1);
	ck_assert_uint_eq(flight_folder_sums(g_folder).bytes, 1000);
}

/* Renamed, replaced, or with a file of the user. */
TEST(flight_folder_removes_only_what_it_made)
{
	struct flight_draft draft[3], more;
	int fd, snapshots;

	begin(3, MUCH);
	for (size_t i = 0; i < ARRAY_SIZE(draft); i++)
		ck_assert_int_eq(make_one("call", 100, &draft[i]), 0);
	snapshots = open("snapshots", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(
		renameat(snapshots, draft[0].name, snapshots, "interesting"),
		0);
	ck_assert_int_eq(
		renameat(snapshots, draft[1].name, snapshots, "copied"), 0);
	ck_assert_int_eq(symlinkat("copied", snapshots, draft[1].name), 0);
	fd = openat(snapshots, draft[2].name, O_RDONLY | O_DIRECTORY);
	close(openat(fd, "notes", O_WRONLY | O_CREAT, 0600));
	close(fd);
	for (size_t i = 0; i < 6; i++)
		ck_assert_int_eq(make_one("call", 100, &more), 0);
	ck_assert_uint_eq(count_of("snapshots/interesting/trace.pftrace"), 1);
	ck_assert_uint_eq(count_of("snapshots/copied/trace.pftrace"), 1);
	ck_assert_uint_eq(count_of("snapshots/0003-*/trace.pftrace"), 1);
	ck_assert_uint_eq(count_of("snapshots/0003-*/notes"), 1);
	ck_assert_uint_eq(count_of("snapshots/000[789]-*"), 3);
	ck_assert_uint_eq(flight_folder_sums(g_folder).removed, 3);
	ck_assert_int_eq(unlinkat(snapshots, draft[1].name, 0), 0);
	ck_assert_int_eq(
		renameat(snapshots, "interesting", snapshots, draft[0].name),
		0);
	ck_assert_int_eq(
		renameat(snapshots, "copied", snapshots, draft[1].name), 0);
	fd = openat(snapshots, draft[2].name, O_RDONLY | O_DIRECTORY);
	unlinkat(fd, "notes", 0);
	close(fd);
	close(snapshots);
}

TEST(flight_folder_is_made_again_when_it_was_removed)
{
	struct flight_draft draft;

	begin(1, MUCH);
	ck_assert_int_eq(make_one("call", 100, &draft), 0);
	own_files_remove(g_dir_fd);
	ck_assert_int_ne(access("snapshots", F_OK), 0);
	ck_assert_int_eq(make_one("call", 100, &draft), 0);
	ck_assert_uint_eq(count_of("snapshots/0002-*-call"), 1);
	ck_assert_int_eq(rename("snapshots", "moved"), 0);
	ck_assert_int_eq(make_one("call", 100, &draft), 0);
	ck_assert_uint_eq(count_of("snapshots/0003-*-call"), 1);
	ck_assert_uint_eq(count_of("moved/0002-*-call"), 1);
	ck_assert_uint_eq(all(), 1);
	own_files_remove(g_dir_fd);
	ck_assert_int_eq(rename("moved", "snapshots"), 0);
}

TEST(flight_folder_takes_no_link_for_its_folder)
{
	struct flight_draft draft;

	begin(3, MUCH);
	ck_assert_int_eq(mkdir("elsewhere", 0700), 0);
	ck_assert_int_eq(symlink("elsewhere", "snapshots"), 0);
	ck_assert_int_eq(flight_folder_begin(g_folder, "call", &draft),
			 -ENOTDIR);
	ck_assert_int_eq(unlink("snapshots"), 0);
	ck_assert_int_eq(rmdir("elsewhere"), 0);
	ck_assert_int_eq(make_one("call", 1, &draft), 0);
}
