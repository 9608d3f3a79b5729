/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/fd_message.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/suite.h"

static int g_pair[2];

static void set_up(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, g_pair), 0);
}

static void tear_down(void)
{
	close(g_pair[0]);
	close(g_pair[1]);
}

static bool is_same_file(int a, int b)
{
	struct stat left, right;

	return !fstat(a, &left) && !fstat(b, &right) &&
	       left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

FIXTURE(set_up, tear_down);

TEST(fd_message_brings_its_descriptors)
{
	int fds[FD_MESSAGE_MAX];
	unsigned int count = 7;
	char text[6] = "";

	ck_assert_int_eq(fd_message_send(g_pair[0], "hello", 6, g_pair, 2, 0),
			 0);
	ck_assert_int_eq(fd_message_receive(g_pair[1], text, sizeof(text), fds,
					    &count, MSG_WAITALL),
			 0);
	ck_assert_str_eq(text, "hello");
	ck_assert_uint_eq(count, 2);
	ck_assert(is_same_file(fds[0], g_pair[0]));
	ck_assert(is_same_file(fds[1], g_pair[1]));
	close(fds[0]);
	close(fds[1]);
	ck_assert_int_eq(
		fd_message_send(g_pair[0], "plain", 6, NULL, 0, MSG_DONTWAIT),
		0);
	ck_assert_int_eq(fd_message_receive(g_pair[1], text, sizeof(text), fds,
					    &count, MSG_DONTWAIT),
			 0);
	ck_assert_str_eq(text, "plain");
	ck_assert_uint_eq(count, 0);
}

TEST(fd_message_that_is_cut_leaves_no_descriptors)
{
	int fds[FD_MESSAGE_MAX], pipe_fd[2];
	unsigned int count = 7;
	char text[6], byte;

	ck_assert_int_eq(fd_message_receive(g_pair[1], text, sizeof(text), fds,
					    &count, MSG_DONTWAIT),
			 -EPIPE);
	ck_assert_uint_eq(count, 0);
	ck_assert_int_eq(pipe(pipe_fd), 0);
	ck_assert_int_eq(
		fd_message_send(g_pair[0], "hel", 3, &pipe_fd[1], 1, 0), 0);
	close(pipe_fd[1]);
	ck_assert_int_eq(fd_message_receive(g_pair[1], text, sizeof(text), fds,
					    &count, MSG_DONTWAIT),
			 -EPIPE);
	ck_assert_uint_eq(count, 0);
	/* EOF: nobody holds the write end any more. */
	ck_assert_int_eq(read(pipe_fd[0], &byte, 1), 0);
	close(pipe_fd[0]);
}

TEST(fd_message_to_nobody_is_an_error)
{
	int fds[FD_MESSAGE_MAX];
	unsigned int count;
	char text[6];

	close(g_pair[1]);
	g_pair[1] = -1;
	ck_assert_int_eq(fd_message_send(g_pair[0], "hello", 6, g_pair, 1, 0),
			 -EPIPE);
	ck_assert_int_eq(fd_message_receive(g_pair[0], text, sizeof(text), fds,
					    &count, MSG_WAITALL),
			 -EPIPE);
}
