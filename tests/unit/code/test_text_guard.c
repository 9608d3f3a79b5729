/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to perfrec-keeper and their results; this program plays the keeper
 * as well. tests/e2e/overhead/killed*.sh show that text is restored.
 */
#include "collector/code/text_guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/code/patch.h"
#include "collector/code/text_keeper.h"
#include "tests/suite.h"

static struct text_guard g_guard;
static struct kept_text g_text;

static void setup(void)
{
	memset(&g_guard, 0, sizeof(g_guard));
	g_text = (struct kept_text){
		.number = 1,
		.mem = patch_mem_open(getpid(), getuid()),
		.list = memfd_create("list", MFD_CLOEXEC),
	};
}

static void teardown(void)
{
	text_guard_stop(&g_guard);
	close(g_text.mem);
	close(g_text.list);
}

FIXTURE(setup, teardown);

TEST(text_guard_keeps_as_much_as_descriptors_allow)
{
	const struct rlimit limit = { 70, 70 };

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < 3; i++, g_text.number++)
		ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), -ENOSPC);
	text_guard_drop(&g_guard, 2);
	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), -ENOSPC);
	ck_assert(!text_guard_has_ended(&g_guard));
}

static void wait_for_end(void)
{
	/* The test runner enforces the time limit. */
	while (!text_guard_has_ended(&g_guard))
		usleep(1000);
}

TEST(text_guard_says_once_that_the_keeper_has_ended)
{
	ck_assert(!text_guard_has_ended(&g_guard));
	ck_assert_int_eq(text_guard_descriptor(&g_guard), -1);
	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	ck_assert_int_ge(text_guard_descriptor(&g_guard), 0);
	ck_assert_int_eq(kill(g_guard.pid, SIGKILL), 0);
	wait_for_end();
	ck_assert(!text_guard_has_ended(&g_guard));
	ck_assert_int_eq(text_guard_descriptor(&g_guard), -1);
	/* The drop is silent, and a new keeper has to wait. */
	text_guard_drop(&g_guard, 1);
	g_guard.started_ns = clock_boottime_ns();
	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), -EAGAIN);
	g_guard.started_ns = 1;
	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	ck_assert_uint_eq(g_guard.kept, 1);
}

/* A program may end before its texts reach the new keeper. */
TEST(text_guard_drops_nothing_that_an_earlier_keeper_kept)
{
	for (; g_text.number <= 3; g_text.number++)
		ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	ck_assert_int_eq(kill(g_guard.pid, SIGKILL), 0);
	wait_for_end();
	g_guard.started_ns = 1;
	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	for (uint64_t number = 1; number <= 3; number++)
		text_guard_drop(&g_guard, number);
	ck_assert_uint_eq(g_guard.kept, 1);
	text_guard_drop(&g_guard, 4);
	ck_assert_uint_eq(g_guard.kept, 0);
	g_text.number++;
	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	ck_assert_uint_eq(g_guard.kept, 1);
}

TEST(text_guard_does_not_wait_for_a_keeper_that_is_stopped)
{
	int err = 0;

	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	ck_assert_int_eq(kill(g_guard.pid, SIGSTOP), 0);
	for (int i = 0; i < 100000 && !err; i++, g_text.number++)
		err = text_guard_keep(&g_guard, &g_text);
	ck_assert_int_eq(err, -EAGAIN);
	wait_for_end();
}

/* No session, file or child remains. */
TEST(text_guard_ends_the_keeper)
{
	pid_t pid;

	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	pid = g_guard.pid;
	text_guard_stop(&g_guard);
	ck_assert_int_lt(waitpid(pid, NULL, 0), 0);
	ck_assert_int_eq(errno, ECHILD);
	ck_assert_int_eq(text_guard_descriptor(&g_guard), -1);
}

static pid_t g_found[8];
static size_t g_count;

static void found(void *arg, pid_t pid, size_t index)
{
	ck_assert_ptr_null(arg);
	ck_assert_uint_eq(index, 1);
	ck_assert_uint_lt(g_count, 8);
	g_found[g_count++] = pid;
}

static pid_t start_child(int area)
{
	int ready[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		(void)mmap(NULL, 4096, PROT_READ, MAP_SHARED, area, 0);
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

TEST(text_find_finds_who_maps_an_area)
{
	/* Nobody maps the first. Any fixed number may be an area of a process that
	 * runs beside the test. */
	int unmapped = memfd_create("unmapped", MFD_CLOEXEC);
	int area = memfd_create("area", MFD_CLOEXEC);
	const struct text_finds finds = { .found = found };
	struct text_area areas[2] = { 0 };
	struct stat status;
	pid_t child;

	ck_assert_int_eq(ftruncate(area, 4096), 0);
	ck_assert_int_eq(fstat(unmapped, &status), 0);
	areas[0].device = status.st_dev;
	areas[0].inode = status.st_ino;
	ck_assert_int_eq(fstat(area, &status), 0);
	areas[1].device = status.st_dev;
	areas[1].inode = status.st_ino;
	ck_assert_uint_eq(text_find(areas, 2, &finds, NULL), 0);
	child = start_child(area);
	ck_assert_uint_eq(text_find(areas, 2, &finds, NULL), 1);
	ck_assert_int_eq(g_found[0], child);
	/* The process started before the areas. */
	areas[0].since_ns = areas[1].since_ns =
		clock_boottime_ns() + 1000000000;
	ck_assert_uint_eq(text_find(areas, 2, &finds, NULL), 0);
	ck_assert_uint_eq(text_find(NULL, 0, &finds, NULL), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(area);
	close(unmapped);
}

TEST(text_restore_reads_lists_of_any_length)
{
	uint8_t wrong[32];

	/* The list is read, and its start is invalid. */
	memset(wrong, 0xff, sizeof(wrong));
	ck_assert_int_eq(ftruncate(g_text.list, 65 << 20), 0);
	ck_assert_int_eq(pwrite(g_text.list, wrong, 32, 0), 32);
	ck_assert_int_eq(text_restore(g_text.mem, g_text.list, false, NULL),
			 -EINVAL);
}

TEST(text_guard_renews_where_there_is_no_room)
{
	const struct rlimit limit = { 66, 66 };

	ck_assert_int_eq(text_guard_renew(&g_guard, &g_text), -EAGAIN);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	g_text.number = 2;
	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), -ENOSPC);
	g_text.number = 1;
	ck_assert_int_eq(text_guard_renew(&g_guard, &g_text), 0);
	ck_assert_uint_eq(g_guard.kept, 1);
	ck_assert(!text_guard_has_ended(&g_guard));
	/* A new keeper does not have this number. */
	g_guard.first = 2;
	ck_assert_int_eq(text_guard_renew(&g_guard, &g_text), -EAGAIN);
}

/* The kernel drops descriptors beyond the keeper's limit. */
TEST(text_guard_says_what_the_keeper_could_not_take)
{
	struct rlimit limit = { 6, 6 };

	ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	ck_assert_int_eq(prlimit(g_guard.pid, RLIMIT_NOFILE, &limit, NULL), 0);
	for (g_text.number = 2; g_text.number <= 4; g_text.number++)
		ck_assert_int_eq(text_guard_keep(&g_guard, &g_text), 0);
	while (g_guard.refused < 3)
		ck_assert(!text_guard_has_ended(&g_guard));
	ck_assert_int_eq(kill(g_guard.pid, 0), 0);
}

TEST(text_keeper_keeps_one_text_of_a_number)
{
	struct text_keeper keeper = { 0 };
	struct kept_text text = { .number = 7 };

	for (int i = 0; i < 3; i++) {
		text.mem = dup(g_text.mem);
		text.list = dup(g_text.list);
		ck_assert_int_eq(text_keeper_add(&keeper, &text), 0);
		ck_assert_uint_eq(keeper.count, 1);
	}
	text_keeper_drop(&keeper, 8);
	ck_assert_uint_eq(keeper.count, 1);
	text_keeper_drop(&keeper, 7);
	ck_assert_uint_eq(keeper.count, 0);
	ck_assert_int_lt(close(text.mem), 0);
	text_keeper_release(&keeper);
}

static int play_another(int argc, char **argv)
{
	if (argc == 1 && !strcmp(argv[0], TEXT_GUARD_NAME))
		return text_guard_main();
	return -1;
}

ROLE(play_another);
