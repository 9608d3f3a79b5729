/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/shell_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define LONG_NS UINT64_C(3600000000000)
#define SHORT_NS UINT64_C(50000000)

static const char *const g_variables[] = { "FOLDER=a b;$(touch broken)",
					   "HOME=/nowhere" };

static const char *const g_hidden[] = { "PUSH_SECRET", NULL };

static int run(const char *text, uint64_t limit_ns, int stop_fd,
	       int *wait_status)
{
	const struct shell_command command = {
		.text = text,
		.variables = g_variables,
		.variable_count = ARRAY_SIZE(g_variables),
		.hidden = g_hidden,
		.limit_ns = limit_ns,
		.stop_fd = stop_fd,
	};
	char how[128];
	int err = shell_command_run(&command, wait_status);

	shell_command_end(&command, err, *wait_status, how, sizeof(how));
	if (err == -ETIMEDOUT)
		ck_assert_str_eq(how, "killed after 50.0 ms");
	else if (!err && WIFSIGNALED(*wait_status))
		ck_assert_str_eq(how, "killed by signal 9 (Killed)");
	else if (!err)
		ck_assert_str_eq(how, *wait_status ? "exit status 7"
						   : "exit status 0");
	return err;
}

static pid_t read_pid(const char *path)
{
	FILE *file = fopen(path, "r");
	int pid = 0;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%d", &pid), 1);
	fclose(file);
	return pid;
}

static void expect_gone(const char *path)
{
	pid_t pid = read_pid(path);

	while (kill(pid, 0) == 0)
		usleep(1000);
}

SUITE(scratch_enter, scratch_leave);

TEST(status_and_environment)
{
	int wait_status = -1;

	ck_assert_int_eq(
		run("[ \"$FOLDER\" = 'a b;$(touch broken)' ] && "
		    "[ $HOME = /nowhere ] && [ -n \"$PATH\" ] && "
		    "[ \"$(env | grep -c ^HOME=)\" = 1 ] && ! read line && "
		    "[ \"$(ps -o pgid= -p $$ | tr -d ' ')\" = $$ ]",
		    LONG_NS, -1, &wait_status),
		0);
	ck_assert_int_eq(wait_status, 0);
	ck_assert_int_ne(access("broken", F_OK), 0);
	ck_assert_int_eq(run("exit 7", LONG_NS, -1, &wait_status), 0);
	ck_assert_int_eq(WEXITSTATUS(wait_status), 7);
	ck_assert_int_eq(run("kill -9 $$", LONG_NS, -1, &wait_status), 0);
	ck_assert_int_eq(WTERMSIG(wait_status), SIGKILL);
}

TEST(hidden_variables_do_not_go_along)
{
	int wait_status = -1;

	setenv("PUSH_SECRET", "hush", 1);
	setenv("PUSH_SECRETS", "known", 1);
	ck_assert_int_eq(run("[ -z \"${PUSH_SECRET+x}\" ] && "
			     "[ \"$PUSH_SECRETS\" = known ]",
			     LONG_NS, -1, &wait_status),
			 0);
	ck_assert_int_eq(wait_status, 0);
}

TEST(no_descriptor_goes_along)
{
	int fd = open("/dev/null", O_RDONLY), wait_status = -1; /* NOLINT */
	char text[64];

	snprintf(text, sizeof(text), "[ ! -e /proc/self/fd/%d ]", fd);
	ck_assert_int_eq(run(text, LONG_NS, -1, &wait_status), 0);
	ck_assert_int_eq(wait_status, 0);
	close(fd);
}

static bool has_text(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && status.st_size > 0;
}

/* A busy machine may not start the shell before its time is over. */
TEST(too_long_is_killed_with_its_group)
{
	int wait_status = -1;

	(void)unlink("child");
	do
		ck_assert_int_eq(run("sleep 3600 & echo $! >child; wait",
				     SHORT_NS, -1, &wait_status),
				 -ETIMEDOUT);
	while (!has_text("child"));
	expect_gone("child");
}

TEST(what_it_leaves_is_killed)
{
	int wait_status = -1;

	ck_assert_int_eq(
		run("sleep 3600 & echo $! >child", LONG_NS, -1, &wait_status),
		0);
	ck_assert_int_eq(wait_status, 0);
	expect_gone("child");
}

/* Including its processes in other sessions, but no other commands. */
TEST(sessions_of_their_own_are_killed)
{
	int wait_status = -1, ready;

	ck_assert_int_eq(run("setsid sh -c 'echo $$ >kept; exec sleep 3600' & "
			     "until [ -s kept ]; do sleep 0.01; done",
			     LONG_NS, -1, &wait_status),
			 0);
	ck_assert_int_eq(mkfifo("ready", 0600), 0);
	ready = open("ready", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_eq(
		run("setsid sh -c 'echo $$ >away; echo >ready; sleep 3600; :' &"
		    "sleep 3600",
		    LONG_NS, ready, &wait_status),
		-ECANCELED);
	expect_gone("away");
	ck_assert_int_eq(kill(read_pid("kept"), SIGKILL), 0);
	close(ready);
}

TEST(it_can_be_stopped)
{
	int ends[2], wait_status = -1;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ck_assert_int_eq(run("sleep 3600", LONG_NS, ends[0], &wait_status),
			 -ECANCELED);
	close(ends[0]);
	close(ends[1]);
}
