/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of /proc/PID/task/TID/syscall, some of them malformed, and the table of
 * blocking system calls.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/samples/wait_call.h"
#include "tests/suite.h"

static struct wait_call g_call;

static int parse(const char *text)
{
	/* Stale contents must not show through. */
	memset(&g_call, 0xa5, sizeof(g_call));
	return wait_call_parse(text, &g_call);
}

TEST(wait_call_has_number_arguments_and_places)
{
	ck_assert_int_eq(parse("202 0x561467494328 0x189 0x0 0x0 0x7 "
			       "0xffffffffffffffff 0x7f864b831dc0 "
			       "0x7f864f0c2f16\n"),
			 0);
	ck_assert(g_call.in_call);
	ck_assert_int_eq(g_call.number, 202);
	ck_assert_uint_eq(g_call.arg[0], 0x561467494328);
	ck_assert_uint_eq(g_call.arg[1], 0x189);
	ck_assert_uint_eq(g_call.arg[4], 7);
	ck_assert_uint_eq(g_call.arg[5], UINT64_MAX);
	ck_assert_uint_eq(g_call.sp, 0x7f864b831dc0);
	ck_assert_uint_eq(g_call.pc, 0x7f864f0c2f16);
}

TEST(wait_call_of_a_thread_in_no_call_has_places_only)
{
	ck_assert_int_eq(parse("-1 0x7ffc1234 0x401000\n"), 0);
	ck_assert(!g_call.in_call);
	ck_assert_uint_eq(g_call.sp, 0x7ffc1234);
	ck_assert_uint_eq(g_call.pc, 0x401000);
	ck_assert_uint_eq(g_call.arg[0], 0);
}

TEST(wait_call_of_a_running_thread_is_told)
{
	ck_assert_int_eq(parse("running\n"), -EAGAIN);
	ck_assert_int_eq(parse("running"), -EAGAIN);
}

TEST(wait_call_refuses_what_no_kernel_writes)
{
	static const char *const odd[] = {
		"",
		"\n",
		"runningx\n",
		"-1\n",
		"-1 \n",
		"-1 0x1\n",
		"-1 0x1 0x2 0x3\n",
		"-2 0x1 0x2\n",
		"-1 1 2\n",
		"0\n",
		"0 0x1 0x2 0x3 0x4 0x5 0x6 0x7\n",
		"0 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8 0x9\n",
		"0 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8x\n",
		"0 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x\n",
		"0 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x-8\n",
		"0 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x 8\n",
		"0 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x10000000000000000\n",
		"99999999999999999999 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n",
		" 0 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n",
		"0  0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n",
		"\x80\xff",
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		ck_assert_msg(parse(odd[i]) == -EBADMSG, "'%s'", odd[i]);
}

/* Only a line with all parts is a wait, whatever the damage. */
TEST(wait_call_refuses_every_cut_line)
{
	const char *line = "7 0x7f8646026ec8 0x1 0xffffffff 0x7f864f04b8d0 "
			   "0x0 0x7ffcc9235807 0x7f8646026e90 0x7";
	char text[WAIT_CALL_BYTES];

	for (size_t length = 0; length < strlen(line); length++) {
		memcpy(text, line, length);
		text[length] = '\0';
		ck_assert_int_eq(parse(text), -EBADMSG);
	}
	ck_assert_int_eq(parse(line), 0);
}

TEST(wait_call_reads_this_kernel)
{
	char path[64], text[WAIT_CALL_BYTES];
	int fds[2], err = -EAGAIN;
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		char byte;

		close(fds[1]);
		(void)!read(fds[0], &byte, 1);
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	for (int i = 0; i < 100000 && (err || g_call.number != SYS_read); i++) {
		FILE *file = fopen(path, "r");

		if (!file || !fgets(text, sizeof(text), file)) {
			/* Not permitted, or not built in. */
			err = 1;
			i = 100000;
		} else {
			err = parse(text);
		}
		if (file)
			fclose(file);
		usleep(100);
	}
	close(fds[1]);
	waitpid(pid, NULL, 0);
	if (err == 1)
		return;
	ck_assert_int_eq(err, 0);
	ck_assert_int_eq((int)g_call.arg[0], fds[0]);
}

TEST(wait_call_kinds_tell_which_argument)
{
	size_t known = 0;

	for (long number = 0; number < 1024; number++) {
		const struct wait_call_kind *kind = wait_call_kind(number);

		if (!kind)
			continue;
		known++;
		ck_assert_int_eq(kind->number, number);
		ck_assert(kind->name[0]);
		ck_assert_uint_lt(kind->descriptor, WAIT_CALL_ARGS);
	}
	ck_assert_uint_gt(known, 50);
	ck_assert_int_eq(wait_call_kind(SYS_futex)->kind, WAIT_FUTEX);
	ck_assert_int_eq(wait_call_kind(SYS_sendfile)->descriptor, 1);
	ck_assert_str_eq(wait_call_kind(SYS_wait4)->name, "wait4");
	ck_assert_ptr_null(wait_call_kind(SYS_getpid));
	ck_assert_ptr_null(wait_call_kind(-1));
}
