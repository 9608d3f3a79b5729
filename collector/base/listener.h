/* SPDX-License-Identifier: Apache-2.0
 *
 * listener - a socket bound to a path, which nobody else serves.
 */
#ifndef PERFREC_COLLECTOR_BASE_LISTENER_H
#define PERFREC_COLLECTOR_BASE_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/socket_path.h"

struct listener {
	int fd; /* non-blocking; -1: none */
	int spare_fd; /* see listener_accept() */
	char path[SOCKET_PATH_BYTES]; /* "": nothing to remove */
};

#define LISTENER_NONE ((struct listener){ .fd = -1, .spare_fd = -1 })

/*
 * Listens at @path, which @option has named, with a socket of @type. Replaces a
 * socket that a collector left there when it was killed. The socket has mode
 * 0600, or 0666 if @shared: then the caller decides whom it serves. Changes the
 * umask for a moment, so no other thread may make files. The caller ends *@out
 * with listener_close(). 0, or -errno after logging one line.
 */
int listener_open(const char *path, const char *option, int type, bool shared,
		  struct listener *out);
/* Closes and removes the socket: @listener is LISTENER_NONE afterwards, and may
 * be before. */
void listener_close(struct listener *listener);

/*
 * Returns the socket of a new connection, non-blocking, which the caller
 * closes, or -errno. If no descriptor is free (-EMFILE, -ENFILE), the
 * connection is accepted and closed all the same: otherwise its client would
 * wait for ever, and the caller's loop would never rest.
 */
int listener_accept(struct listener *listener);

/* Sets *@pid and *@uid to those of the process at the other end of @connection,
 * as our namespaces have them. 0 or -errno. */
int listener_peer(int connection, pid_t *pid, uid_t *uid);

#endif
