/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows that cannot be made, and windows that fill the spool (push_spool.h);
 * and remains of perfrec-push.
 */
#include "collector/files/push_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/output/own_files.h"
#include "collector/push/counts.h"
#include "collector/push/spool.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

static const char name[WINDOW_NAME_BYTES] = "5-1";
static const char second[WINDOW_NAME_BYTES] = "5-2";
static const struct bytes window = { .at = (uint8_t[]){ "window" },
				     .count = 6 };

/* Returns the old limit. */
static struct rlimit forbid_files(void)
{
	struct rlimit limit, none;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	return limit;
}

SUITE(scratch_enter, scratch_leave);

TEST(a_window_that_failed_can_be_made_later)
{
	struct push_spool_counts counts;
	struct push_spool *spool;
	struct rlimit limit;
	struct stat status;

	ck_assert_int_eq(push_spool_new(1 << 20, &spool), 0);
	ck_assert_int_eq(push_spool_open(spool, "."), 0);
	limit = forbid_files();
	ck_assert_int_eq(push_spool_put(spool, name, &window), -EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(push_spool_put(spool, name, &window), 0);
	ck_assert_int_eq(stat(".push/5-1", &status), 0);
	ck_assert_int_eq(status.st_size, 6);
	ck_assert_uint_eq(push_spool_remove(spool, false), 1);
	counts = push_spool_counts(spool);
	ck_assert_uint_eq(counts.windows, 1);
	ck_assert_uint_eq(counts.failed, 1);
	ck_assert_int_eq(unlink(".push/5-1"), 0);
	push_spool_free(&spool);
}

/* The disk is full: a file may have three bytes. */
TEST(a_window_that_is_cut_leaves_nothing)
{
	struct push_spool *spool;
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(push_spool_new(1 << 20, &spool), 0);
	ck_assert_int_eq(push_spool_open(spool, "."), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = 3;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(push_spool_put(spool, name, &window), -EFBIG);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(access(".push/.5-1", F_OK), -1);
	ck_assert_int_eq(access(".push/5-1", F_OK), -1);
	ck_assert_uint_eq(push_spool_counts(spool).failed, 1);
	ck_assert_uint_eq(push_spool_remove(spool, false), 0);
	push_spool_free(&spool);
}

/* The size of the folder is read again after a second. */
TEST(windows_fill_the_spool)
{
	struct push_spool *spool;

	ck_assert_int_eq(push_spool_new(2 * window.count, &spool), 0);
	ck_assert_int_eq(push_spool_open(spool, "."), 0);
	ck_assert(push_spool_has_room(spool));
	ck_assert_int_eq(push_spool_put(spool, name, &window), 0);
	ck_assert_int_eq(push_spool_put(spool, second, &window), 0);
	ck_assert(!push_spool_has_room(spool));
	push_spool_free(&spool);
	/* Another collector finds them. */
	ck_assert_int_eq(push_spool_new(2 * window.count, &spool), 0);
	ck_assert_int_eq(push_spool_open(spool, "."), 0);
	ck_assert(!push_spool_has_room(spool));
	unlink(".push/5-1");
	unlink(".push/5-2");
	ck_assert_uint_eq(push_spool_remove(spool, false), 0);
	push_spool_free(&spool);
}

/* The next recording must not take the remains for a person's files. */
TEST(a_push_that_is_killed_leaves_own_files_only)
{
	const struct rlimit none = { 0, 0 };
	struct push_spool *spool;
	struct own_files files;
	struct counts counts = { 0 };
	struct spool sent;
	int dir_fd, status;
	pid_t pid;

	ck_assert_int_eq(push_spool_new(1 << 20, &spool), 0);
	ck_assert_int_eq(push_spool_open(spool, "."), 0);
	ck_assert_int_eq(spool_open(".push", &sent), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &none);
		setrlimit(RLIMIT_FSIZE, &none);
		signal(SIGXFSZ, SIG_DFL);
		(void)counts_write(&counts, sent.fd);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
	ck_assert_int_eq(own_files_look(dir_fd, &files), 0);
	ck_assert_str_eq(files.first_foreign, "");
	close(dir_fd);
	spool_remove_left(&sent);
	ck_assert_int_eq(counts_write(&counts, sent.fd), 0);
	ck_assert_int_eq(access(".push/push.json", F_OK), 0);
	spool_close(&sent);
	ck_assert_uint_eq(push_spool_remove(spool, false), 0);
	ck_assert_int_eq(access(".push", F_OK), -1);
	push_spool_free(&spool);
}
