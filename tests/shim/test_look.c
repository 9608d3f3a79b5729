/* SPDX-License-Identifier: Apache-2.0
 *
 * test_look - a program permits its collector to inspect it (PR_SET_PTRACER,
 * needed for Yama) on the collector's request, at the hello and in each forked
 * child. A filter that kills the caller shows whether it does.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/shim/mini_collector.h"
#include "tests/shim/victims/look_victim.h"
#include "tests/suite.h"

#define SKIPPED 77

static struct mini_collector g_mini;

/* With @filter it starts under the filter. */
static pid_t spawn(const char *name, bool filter)
{
	struct sock_filter code[LOOK_FILTER];
	struct sock_fprog program = { LOOK_FILTER, code };
	char collector[16];
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/look_victim"),
			 (char *)name, collector, NULL };
	const char *shim = mini_build_path("libperfrec_preload.so");
	pid_t pid;

	/* The test is the collector. */
	snprintf(collector, sizeof(collector), "%d", (int)getpid());
	if (!filter)
		return mini_spawn(&g_mini, shim, argv);
	look_filter(code, getpid());
	pid = fork();
	if (pid)
		return pid;
	setenv("LD_PRELOAD", shim, 1);
	setenv("PERFREC_SOCKET", g_mini.socket_path, 1);
	setenv("PERFREC_DEADLINE_MS", "10000", 0);
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	    !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		execv(argv[0], argv);
	_exit(1);
}

/* The collector asks for @asks. */
static int run(const char *name, bool filter, uint32_t asks)
{
	const struct wire_reply settings = { .asks = asks,
					     .clock = WIRE_CLOCK_BOOTTIME };
	int status;
	pid_t pid;

	mini_collector_start(&g_mini);
	mini_collector_want_all(&g_mini);
	pid = spawn(name, filter);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	mini_collector_stop(&g_mini);
	return status;
}

TEST(look_is_permitted_at_hello_where_it_is_asked_for)
{
	int status = run("none", true, WIRE_ASK_LOOK);

	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGSYS);
	ck_assert_int_eq(run("none", true, WIRE_ASK_END), 0);
	ck_assert_int_eq(run("none", true, 0), 0);
}

TEST(look_is_permitted_again_in_a_forked_child)
{
	int status = run("fork", false, WIRE_ASK_LOOK);

	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), SIGSYS);
	ck_assert_int_eq(run("fork", false, 0), 0);
}

/* A filter might kill the program. */
TEST(look_is_not_permitted_under_a_filter)
{
	ck_assert_int_eq(run("told", false, WIRE_ASK_LOOK), 0);
}

/* The pid may belong to another process there. */
TEST(look_is_not_permitted_in_another_namespace)
{
	int status = run("namespace", false, WIRE_ASK_LOOK);

	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) != SKIPPED)
		ck_assert_int_eq(WEXITSTATUS(status), 0);
}

static void begin_suite(void)
{
	setenv("PERFREC_QUIET", "1", 1);
}

SUITE(begin_suite, NULL);
