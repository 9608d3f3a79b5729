/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows that cannot be made, and windows that fill the spool (push_spool.h).
 */
#include "collector/files/push_spool.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/bytes.h"
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

START_TEST(a_window_that_failed_can_be_made_later)
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
END_TEST

/* The disk is full: a file may have three bytes. */
START_TEST(a_window_that_is_cut_leaves_nothing)
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
END_TEST

/* The size of the folder is read again after a second. */
START_TEST(windows_fill_the_spool)
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
END_TEST

int main(void)
{
	Suite *suite = suite_create("push_spool");
	TCase *tcase = suite_case(suite, "push_spool");
	int status;

	tcase_add_test(tcase, a_window_that_failed_can_be_made_later);
	tcase_add_test(tcase, a_window_that_is_cut_leaves_nothing);
	tcase_add_test(tcase, windows_fill_the_spool);
	scratch_enter();
	status = suite_run(suite);
	scratch_leave();
	return status;
}
