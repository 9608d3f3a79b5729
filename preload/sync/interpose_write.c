/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_write - wraps the functions that give data to the other end of a
 * pipe or socket, or end it. The collector marks the descriptors whose other end
 * a thread has waited at (page.awaited). For all others a wrapper is a look at
 * one bit and a jump.
 *
 * A mark may be old: the number may be that of another file by now. So the
 * record names the file by its inode, which the kernel reports at the call.
 */
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/core/gate.h"
#include "preload/core/sys.h"
#include "preload/sync/interpose_sync_inner.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

static inline bool is_awaited_by_reader(int fd)
{
	/* relaxed: see interpose_sync_record() */
	return atom_load_rlx(&g_sync_recording) &&
	       (unsigned int)fd < AWAITED_MAX &&
	       /* relaxed: a hint */
	       atom_load_rlx(&g_shim.page->awaited[fd / 8]) >> fd % 8 & 1;
}

/* Puts a RELEASE for the thread at the other end of @fd, perhaps its @end. */
ATTR_NOINLINE static void put_descriptor(int fd, bool end)
{
	struct stat status = { .st_mode = S_IFREG };
	uint64_t object = SYNC_NUMBERED | (unsigned int)fd;

	if (!sync_is_recorded() || g_shim.no_syscalls ||
	    sys(SYS_fstat, fd, &status))
		return;
	if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))
		object = status.st_ino;
	else if (status.st_mode & S_IFMT)
		return;
	/* A FIFO of FUSE may have any number; nobody awaits it. */
	if (status.st_ino >= SYNC_NUMBERED)
		return;
	sync_put(EXT_SYNC_RELEASE, SYNC_DESCRIPTOR, (void *)object, end);
}

/* A wrapper of @name, whose first parameter is @fd. @gives: there is something
 * that may wake a reader. @end: it may end the file. With --calls-to, the collector
 * knows that these wrappers only pass calls on (path_of_callee()). */
#define WRAP_WRITE(result, name, gives, end, parameters, arguments) \
	REAL_FUNCTION_OF(result, name, parameters, arguments)       \
	ATTR_NOINLINE static result tell_##name parameters          \
	{                                                           \
		if (gives)                                          \
			put_descriptor(fd, end);                    \
		return g_real_##name arguments;                     \
	}                                                           \
	ATTR_EXPORT result name parameters                          \
	{                                                           \
		return unlikely(is_awaited_by_reader(fd))           \
			       ? tell_##name arguments              \
			       : g_real_##name arguments;           \
	}

WRAP_WRITE(ssize_t, write, size, false, (int fd, const void *data, size_t size),
	   (fd, data, size))
WRAP_WRITE(ssize_t, writev, true, false,
	   (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRAP_WRITE(ssize_t, send, size, false,
	   (int fd, const void *data, size_t size, int flags),
	   (fd, data, size, flags))
WRAP_WRITE(ssize_t, sendto, size, false,
	   (int fd, const void *data, size_t size, int flags,
	    const struct sockaddr *to, socklen_t to_size),
	   (fd, data, size, flags, to, to_size))
WRAP_WRITE(ssize_t, sendmsg, true, false,
	   (int fd, const struct msghdr *message, int flags),
	   (fd, message, flags))
WRAP_WRITE(int, sendmmsg, true, false,
	   (int fd, struct mmsghdr *messages, unsigned int count, int flags),
	   (fd, messages, count, flags))
WRAP_WRITE(int, eventfd_write, true, false, (int fd, eventfd_t value),
	   (fd, value))
WRAP_WRITE(int, shutdown, true, true, (int fd, int how), (fd, how))
WRAP_WRITE(int, close, true, true, (int fd), (fd))
