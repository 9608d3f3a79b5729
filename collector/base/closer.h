/* SPDX-License-Identifier: Apache-2.0
 *
 * closer - closes descriptors that others control, where nobody waits for it.
 *
 * close(2) can block for as long as somebody else likes: a TCP socket with
 * SO_LINGER, a terminal that still has output, a file of a FUSE server that
 * does not answer. And whoever is the last to let go of a message closes all
 * descriptors in it. So threads of this module close them. A thread that is
 * held by a descriptor is interrupted every 50 ms, which is enough for all but
 * FUSE; others take its place, up to CLOSER_THREADS. When all of these are
 * held, what comes later waits, and after CLOSER_WAITING_MAX of them nothing
 * more should be received (closer_is_full()). While they do close, or where a
 * busy machine gives them no CPU, more may wait.
 *
 * Connections have threads of their own. What was sent over one and not
 * received is no open file of ours: FUSE has no say in its end.
 */
#ifndef PERFREC_COLLECTOR_BASE_CLOSER_H
#define PERFREC_COLLECTOR_BASE_CLOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CLOSER_THREADS 16
#define CLOSER_SOCKET_THREADS 4
#define CLOSER_WAITING_MAX 64
#define CLOSER_UNSERVED_MAX 1024
/* The most descriptors that closer_receive() takes. */
#define CLOSER_FDS_MAX 8

/* Has @fd closed, soon. Nobody may use it any more. Any thread; does not block,
 * except when there is no memory or no thread can be started: then it closes
 * @fd itself. */
void closer_close(int fd);
/* The same for a connected UNIX socket; its peer sees the end at once, after
 * what was sent to it. */
void closer_close_socket(int fd);

/* Whether CLOSER_WAITING_MAX descriptors wait for a thread, as others hold all
 * threads; or CLOSER_UNSERVED_MAX, for whatever reason. Any thread. */
bool closer_is_full(void);

/*
 * recvmsg(2) of up to @size bytes to @bytes, not blocking, with at most @fd_max
 * descriptors (0: @fds may be NULL), which are left in @fds, their number in
 * *@fd_count; the caller owns them, and they have FD_CLOEXEC. Returns the
 * length (0: the end), or -errno.
 *
 * *@cut is 0; or -E2BIG when more descriptors came along, or -EMFILE when the
 * limit of open files left no room for them. Then @bytes is what the message
 * says, no descriptor is left here, and the message is where it was: the caller
 * ends the connection by closer_close_socket().
 */
ssize_t closer_receive(int socket, void *bytes, size_t size, int *fds,
		       size_t fd_max, size_t *fd_count, int *cut);

#endif
