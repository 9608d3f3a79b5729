/* SPDX-License-Identifier: Apache-2.0
 *
 * refuse_writes_preload - a kernel that refuses writes to the text of other
 * processes (proc_mem.force_override=never), for whoever it is loaded into:
 * pwrite(2) to /proc/PID/mem fails with $REFUSE_ERROR, or writes nothing if
 * that is 0, from the $REFUSE_FROM-th write of this process on (1: the first),
 * $REFUSE_COUNT times (not set: each time). Reading goes on. Any threads.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/compiler.h"

static unsigned long g_writes;

ATTR_EXPORT ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at);
ATTR_EXPORT ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at);

static int is_memory(int fd)
{
	char link[32], path[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path));
	return length > 10 && length < (ssize_t)sizeof(path) &&
	       !memcmp(path, "/proc/", 6) &&
	       !memcmp(path + length - 4, "/mem", 4);
}

static unsigned long setting(const char *name, unsigned long usual)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : usual;
}

static int is_refused(int fd)
{
	unsigned long from = setting("REFUSE_FROM", 1), number;

	if (!is_memory(fd))
		return 0;
	/* relaxed: a count */
	number = atom_add_rlx(&g_writes, 1ul) + 1;
	return number >= from &&
	       number - from < setting("REFUSE_COUNT", (unsigned long)-1);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	if (!is_refused(fd))
		return syscall(SYS_pwrite64, fd, from, bytes, at);
	errno = (int)setting("REFUSE_ERROR", EIO);
	return errno ? -1 : 0;
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at)
{
	return pwrite(fd, from, bytes, at);
}
