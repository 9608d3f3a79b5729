/* SPDX-License-Identifier: Apache-2.0
 *
 * listener - a listening socket at a path.
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
	char path[SOCKET_PATH_BYTES];
};

#define LISTENER_NONE ((struct listener){ .fd = -1, .spare_fd = -1 })

/*
 * Listens at @path with a socket of @type; @option names the option for
 * messages. Replaces the socket of a killed collector. The mode is 0600, or
 * 0666 if @shared: then the caller must check its peers. Changes the umask for
 * a moment, so no other thread may create files. The caller ends *@out with
 * listener_close(). Returns 0, or -errno after logging one line.
 */
int listener_open(const char *path, const char *option, int type, bool shared,
		  struct listener *out);
/* Closes and removes the socket and sets @listener to LISTENER_NONE, which it
 * may already be. */
void listener_close(struct listener *listener);

/*
 * Returns the non-blocking socket of a new connection, which the caller closes,
 * or -errno. Without a free descriptor (-EMFILE, -ENFILE) it accepts and closes
 * the connection all the same; otherwise the client would wait for ever and the
 * caller's loop would spin.
 */
int listener_accept(struct listener *listener);

/* Sets *@pid and *@uid to those of the peer of @connection, in this process'
 * namespaces. Returns 0 or -errno. */
int listener_peer(int connection, pid_t *pid, uid_t *uid);

#endif
