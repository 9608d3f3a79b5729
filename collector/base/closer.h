/* SPDX-License-Identifier: Apache-2.0
 *
 * closer - closes descriptors that others control, where nobody waits for it.
 *
 * close(2) can block for as long as somebody else likes: a TCP socket with
 * SO_LINGER, a terminal that still has output, a file of a FUSE server that
 * does not answer. And the end of a UNIX socket closes all descriptors that
 * were sent to it and not received. So threads of this module close them. A
 * thread that is held by a descriptor is interrupted every 50 ms, which is
 * enough for all but FUSE; others take its place, up to CLOSER_THREADS.
 */
#ifndef PERFREC_COLLECTOR_BASE_CLOSER_H
#define PERFREC_COLLECTOR_BASE_CLOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* All descriptors that one message can carry: SCM_MAX_FD of the kernel. */
#define CLOSER_MESSAGE_FDS 253

/* Has @fd closed, soon. Nobody may use it any more. Any thread; does not block,
 * except when there is no memory or no thread can be started: then it closes
 * @fd itself. */
void closer_close(int fd);
/* The same for a connected UNIX socket; its peer sees the end at once, after
 * what was sent to it. */
void closer_close_socket(int fd);

/*
 * recvmsg(2) of up to @size bytes to @bytes, not blocking. The first @fd_max
 * descriptors that came along are left in @fds, their number in *@fd_count; the
 * caller owns them, and they have FD_CLOEXEC. All others are closed by
 * closer_close(). *@cut (NULL: nobody asks): some were lost, as the limit of
 * open files left no room. Returns the length (0: the end), or -errno.
 */
ssize_t closer_receive(int socket, void *bytes, size_t size, int *fds,
		       size_t fd_max, size_t *fd_count, bool *cut);

#endif
