/* SPDX-License-Identifier: Apache-2.0
 *
 * stall_writes_preload - simulates a disk that hangs: a writev(2) to a file
 * whose path contains $STALL_PATH waits while the file $STALL_WHILE exists. Any
 * threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shared/compiler.h"

ATTR_EXPORT ssize_t writev(int fd, const struct iovec *parts, int count);

static int is_stalled(int fd)
{
	const char *path = getenv("STALL_PATH"), *file = getenv("STALL_WHILE");
	char link[32], target[512];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, target, sizeof(target) - 1);
	if (!path || !file || length < 0)
		return 0;
	target[length] = '\0';
	return strstr(target, path) && access(file, F_OK) == 0;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	while (is_stalled(fd))
		usleep(1000);
	return syscall(SYS_writev, fd, parts, count);
}
