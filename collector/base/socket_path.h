/* SPDX-License-Identifier: Apache-2.0
 *
 * socket_path - where the collector's sockets lie: the one for programs, and
 * beside it the one for `perfrec ctl`.
 */
#ifndef PERFREC_COLLECTOR_BASE_SOCKET_PATH_H
#define PERFREC_COLLECTOR_BASE_SOCKET_PATH_H

#include <stdbool.h>
#include <sys/un.h>

#define SOCKET_PATH_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)
#define SOCKET_PATH_CTL ".ctl" /* comes after the name of the other one */
/*
 * An empty file of this name beside the socket for programs says that all are
 * to say hello: those in which nothing can call a hook have CPU time and
 * allocations to record. It is looked for by the shim (preload/start/init.c).
 */
#define SOCKET_PATH_ALL ".all"
/* Of the socket for programs: the other one's must have room, too. */
#define SOCKET_PATH_MAX (SOCKET_PATH_BYTES - sizeof(SOCKET_PATH_CTL))
_Static_assert(sizeof(SOCKET_PATH_ALL) <= sizeof(SOCKET_PATH_CTL), "room");
/* In the folder of a recording while it is made: a symbolic link to the
 * socket for `perfrec ctl`. */
#define SOCKET_PATH_LINK "control"

/* Every call: 0, or -errno after logging one line. */

/* @path itself, if it is not too long. */
int socket_path_copy(const char *path, char out[SOCKET_PATH_BYTES]);
/* Where programs look when they are told nothing. With @make, a folder of this
 * user's in the temporary folder is made if it comes to that. */
int socket_path_usual(bool make, char out[SOCKET_PATH_BYTES]);
/* One that nobody else finds, in a new *@folder: the caller removes it. With
 * @all, other users could be let in there. */
int socket_path_private(bool all, char folder[SOCKET_PATH_BYTES],
			char out[SOCKET_PATH_BYTES]);

/* For a collector that was killed: remove the folder that the call above made
 * for @socket, with the sockets in it. Nothing is touched that is not ours, has
 * another name than that call gives, or holds anything else. */
void socket_path_clean_up(const char *socket);

#endif
