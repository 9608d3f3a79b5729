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
 * Listen at @path with a socket of @type; one that a collector which was
 * killed has left is replaced. Mode 0600, or 0666 if @shared: then who
 * accepts decides. Before other threads make files. 0, or -errno after logging
 * one line.
 */
int listener_open(const char *path, int type, bool shared,
		  struct listener *out);
/* Closes and removes it; harmless on LISTENER_NONE. */
void listener_close(struct listener *listener);

/*
 * A new connection, non-blocking, or -errno. When no descriptor is free
 * (-EMFILE, -ENFILE) the connection is taken and closed, so that it does not
 * wait for ever, nor the caller's loop spin.
 */
int listener_accept(struct listener *listener);

/* Who is at the other end: 0 or -errno. @uid, @pid as seen from here. */
int listener_peer(int connection, pid_t *pid, uid_t *uid);

#endif
