/* SPDX-License-Identifier: Apache-2.0
 *
 * fd_message - a message of a known size with descriptors beside it, between
 * the collector and its helpers. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_FD_MESSAGE_H
#define PERFREC_COLLECTOR_NAMES_FD_MESSAGE_H

#include <stddef.h>

/* Descriptors beside one message. */
#define FD_MESSAGE_MAX 4u

/* Sends the @size bytes at @bytes over the stream socket @socket, with the
 * @count descriptors @fds, at most FD_MESSAGE_MAX. @flags is 0 or MSG_DONTWAIT.
 * 0; or -errno, -EPIPE if only a part was sent. */
int fd_message_send(int socket, const void *bytes, size_t size, const int *fds,
		    unsigned int count, int flags);

/* Receives a message of @size bytes into @bytes and sets @fds and *@count to
 * its descriptors, which the caller closes. 0; or -EPIPE: there will be no
 * more, or it is no such message (with MSG_DONTWAIT in @flags also: it is not
 * there yet), and then there are no descriptors. */
int fd_message_receive(int socket, void *bytes, size_t size,
		       int fds[FD_MESSAGE_MAX], unsigned int *count, int flags);

#endif
