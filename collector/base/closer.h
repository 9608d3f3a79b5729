/* SPDX-License-Identifier: Apache-2.0
 *
 * closer - closes descriptors on threads of its own, because another process can
 * make close(2) block: a TCP socket with SO_LINGER, a terminal with pending
 * output, a file of a FUSE server that does not answer.
 *
 * A message that the kernel drops closes its descriptors on the thread of the
 * receiver. closer_receive() takes them out of the message instead.
 *
 * A signal interrupts a blocked thread every 50 ms, which ends the block unless
 * the file is of FUSE. While threads are blocked, others start, CLOSER_THREADS
 * in all. When all are blocked, descriptors wait. Beyond CLOSER_WAITING_MAX of
 * them the caller should stop receiving (closer_is_full()); while some thread
 * makes progress, CLOSER_UNSERVED_MAX may wait.
 *
 * CLOSER_SOCKET_THREADS more threads close connections. A descriptor that the
 * peer has sent, but this process never received, is no open file of this
 * process. So FUSE cannot block the end of a connection.
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
#define CLOSER_FDS_MAX 8

/* Queues @fd for closing; the caller must not use it again. Any thread. Does not
 * block. Only if there is no memory, or no thread can start, it closes @fd
 * itself. */
void closer_close(int fd);
/* As closer_close(), for a connected UNIX socket. The peer reads the messages
 * that were sent, and then the end of the connection, without waiting for the
 * thread. */
void closer_close_socket(int fd);

/* Returns true if CLOSER_WAITING_MAX descriptors wait while all threads are
 * blocked, or CLOSER_UNSERVED_MAX wait for any reason. Any thread. */
bool closer_is_full(void);

/*
 * Receives a message of up to @size bytes without blocking, and at most @fd_max
 * descriptors (0: @fds may be NULL). Sets *@fd_count; the caller owns the
 * descriptors in @fds, which have FD_CLOEXEC. Returns the length (0: end of the
 * connection) or -errno.
 *
 * Sets *@cut to 0; to -E2BIG if the message had more descriptors; or to -EMFILE
 * if the limit of open files was reached. If *@cut is not 0, @bytes is valid, no
 * descriptor is returned, and the message stays in the queue; the caller ends the
 * connection with closer_close_socket().
 */
ssize_t closer_receive(int socket, void *bytes, size_t size, int *fds,
		       size_t fd_max, size_t *fd_count, int *cut);

#endif
