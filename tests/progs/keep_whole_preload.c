/* SPDX-License-Identifier: Apache-2.0
 *
 * keep_whole_preload - for a collector that records with --keep last: no bytes
 * leave the trace. fallocate() fails as on a file system that cannot remove
 * bytes from a file, so the collector copies the part that it keeps. When it
 * renames the copy, the whole trace gets another name: whole.pftrace. Any
 * threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/compiler.h"

ATTR_EXPORT int fallocate(int fd, int mode, off_t offset, off_t bytes);
ATTR_EXPORT int fallocate64(int fd, int mode, off_t offset, off_t bytes);
ATTR_EXPORT ssize_t pwrite(int fd, const void *from, size_t count,
			   off_t offset);
ATTR_EXPORT ssize_t pwrite64(int fd, const void *from, size_t count,
			     off_t offset);
ATTR_EXPORT int renameat(int from_fd, const char *from, int to_fd,
			 const char *to);

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	if (mode & FALLOC_FL_PUNCH_HOLE)
		return 0;
	if (mode & FALLOC_FL_COLLAPSE_RANGE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

int fallocate64(int fd, int mode, off_t offset, off_t bytes)
{
	return fallocate(fd, mode, offset, bytes);
}

static int is_trace(int fd)
{
	static const char name[] = "/trace.pftrace";
	char link[32], target[512];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, target, sizeof(target) - 1);
	if (length < (ssize_t)strlen(name))
		return 0;
	target[length] = '\0';
	return strcmp(target + length - strlen(name), name) == 0;
}

/* Ignores bytes for the hole. */
ssize_t pwrite(int fd, const void *from, size_t count, off_t offset)
{
	if (is_trace(fd))
		return (ssize_t)count;
	return syscall(SYS_pwrite64, fd, from, count, offset);
}

ssize_t pwrite64(int fd, const void *from, size_t count, off_t offset)
{
	return pwrite(fd, from, count, offset);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	if (strcmp(from, ".trace.joined") == 0)
		linkat(to_fd, to, to_fd, "whole.pftrace", 0);
	return (int)syscall(SYS_renameat, from_fd, from, to_fd, to);
}
