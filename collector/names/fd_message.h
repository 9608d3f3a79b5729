/* SPDX-License-Identifier: Apache-2.0
 *
 * fd_message - messages of fixed size with descriptors, between the collector
 * and its helpers. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_FD_MESSAGE_H
#define PERFREC_COLLECTOR_NAMES_FD_MESSAGE_H

#include <stddef.h>

#define FD_MESSAGE_MAX 4u

/* @flags is 0 or MSG_DONTWAIT. Returns 0 or -errno; -EPIPE: sent partly. */
int fd_message_send(int socket, const void *bytes, size_t size, const int *fds,
		    unsigned int count, int flags);

/* The caller closes @fds. Returns 0, or -EPIPE without descriptors: end,
 * malformed, or, with MSG_DONTWAIT, not there yet. */
int fd_message_receive(int socket, void *bytes, size_t size,
		       int fds[FD_MESSAGE_MAX], unsigned int *count, int flags);

#endif
