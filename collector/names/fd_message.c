/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/fd_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(FD_MESSAGE_MAX * sizeof(int))];
};

int fd_message_send(int socket, const void *bytes, size_t size, const int *fds,
		    unsigned int count, int flags)
{
	union control control = { 0 };
	struct iovec part = { (void *)bytes, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t put;

	if (count) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	put = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
	if (put < 0)
		return -errno;
	return put == (ssize_t)size ? 0 : -EPIPE;
}

int fd_message_receive(int socket, void *bytes, size_t size,
		       int fds[FD_MESSAGE_MAX], unsigned int *count, int flags)
{
	union control control;
	struct iovec part = { bytes, size };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const struct cmsghdr *header;
	size_t control_bytes;
	ssize_t got;

	do
		got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	header = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
	*count = 0;
	if (header && header->cmsg_level == SOL_SOCKET &&
	    header->cmsg_type == SCM_RIGHTS) {
		/* The control buffer limits the size. */
		control_bytes = header->cmsg_len - CMSG_LEN(0);
		memcpy(fds, CMSG_DATA(header), control_bytes);
		*count = (unsigned int)(control_bytes / sizeof(int));
	}
	if (got == (ssize_t)size)
		return 0;
	while (*count)
		close(fds[--*count]);
	return -EPIPE;
}
