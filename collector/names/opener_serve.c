/* SPDX-License-Identifier: Apache-2.0
 *
 * opener_serve - keeps the rights of the collector, to open files. Reads no
 * file.
 */
#include "collector/names/opener_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/names/fd_message.h"
#include "collector/names/opener_wire.h"

#define SOCKET STDOUT_FILENO

static bool receive_opener_request(struct opener_request *request,
				   int fds[FD_MESSAGE_MAX], unsigned int *count)
{
	bool passes;

	if (fd_message_receive(SOCKET, request, sizeof(*request), fds, count,
			       MSG_WAITALL))
		return false;
	passes = request->question == OPENER_PASS;
	return request->files <= READER_FILES_MAX &&
	       *count == 1 + (passes ? request->files : 0);
}

static void answer_opening(int err, int fd)
{
	const struct opener_reply reply = { .err = err };

	(void)fd_message_send(SOCKET, &reply, sizeof(reply), &fd, fd >= 0, 0);
}

/* Replaces an O_PATH @fd by one for reading. Returns 0 or -errno. */
static int open_to_read(int fd)
{
	int flags = fcntl(fd, F_GETFL), copy, err;
	char link[32];

	if (flags < 0 || !(flags & O_PATH))
		return flags < 0 ? -errno : 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	copy = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (copy < 0)
		return -errno;
	err = dup3(copy, fd, O_CLOEXEC) < 0 ? -errno : 0;
	close(copy);
	return err;
}

/* Answers last, since closing a file may block as well. */
static void pass(const struct opener_request *request, const int *fds)
{
	int err = 0;

	for (uint32_t i = 0; i < request->files && !err; i++)
		err = open_to_read(fds[1 + i]);
	if (!err)
		err = fd_message_send(fds[0], &request->message,
				      sizeof(request->message), fds + 1,
				      request->files, 0);
	for (uint32_t i = 0; i <= request->files; i++)
		close(fds[i]);
	answer_opening(err, -1);
}

int opener_serve(void)
{
	static struct opener_request request;
	int fds[FD_MESSAGE_MAX];
	unsigned int count;

	while (receive_opener_request(&request, fds, &count)) {
		request.path[sizeof(request.path) - 1] = '\0';
		if (request.question == OPENER_FIND) {
			struct open_how how = { .flags = request.flags |
							 O_PATH | O_CLOEXEC,
						.resolve = request.resolve };
			int fd = (int)syscall(SYS_openat2, fds[0], request.path,
					      &how, sizeof(how));

			answer_opening(fd < 0 ? -errno : 0, fd);
			if (fd >= 0)
				close(fd);
			close(fds[0]);
		} else
			pass(&request, fds);
	}
	return 0;
}
