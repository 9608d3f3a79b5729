/* SPDX-License-Identifier: Apache-2.0
 *
 * Files named by a user are written completely or not at all, with the usual
 * mode.
 */
#include "collector/output/whole_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/unit/scratch.h"

static bool g_may_not_change;

/* The mask belongs to all threads, so nobody may change it. */
mode_t umask(mode_t mask)
{
	scratch_must(!g_may_not_change, "the umask is left alone");
	return (mode_t)syscall(SYS_umask, mask);
}

SUITE(scratch_enter, scratch_leave);

TEST(whole_file_has_the_mode_of_any_new_file, EACH(0, 3))
{
	static const mode_t masks[] = { 022, 077, 0 };
	struct whole_file file;
	struct stat status;

	umask(masks[_i]);
	g_may_not_change = true;
	ck_assert_int_eq(whole_file_open("file", &file), 0);
	ck_assert_int_eq(access("file", F_OK), -1);
	ck_assert_int_eq(fputs("text", file.out), 1);
	ck_assert_int_eq(whole_file_close(&file, 0), 0);
	ck_assert_int_eq(stat("file", &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0666 & ~masks[_i]);
	ck_assert_int_eq(status.st_size, 4);
	ck_assert_int_eq(unlink("file"), 0);
}

TEST(whole_file_that_failed_is_not_there)
{
	struct whole_file file;

	ck_assert_int_eq(whole_file_open("file", &file), 0);
	ck_assert_int_eq(whole_file_close(&file, -ENOSPC), -ENOSPC);
	ck_assert_int_eq(access("file", F_OK), -1);
	ck_assert_int_eq(whole_file_open("nowhere/file", &file), -ENOENT);
}

TEST(whole_file_drafts_have_names_of_their_own)
{
	char *name[2];

	for (int i = 0; i < 2; i++) {
		int fd = whole_file_draft("file", &name[i]);

		ck_assert_int_ge(fd, 0);
		close(fd);
		ck_assert_int_eq(strncmp(name[i], "file.", 5), 0);
	}
	ck_assert_str_ne(name[0], name[1]);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(unlink(name[i]), 0);
		free(name[i]);
	}
}
