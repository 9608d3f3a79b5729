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
 * An empty file with this suffix beside the socket for programs tells the shim
 * (preload/start/init.c) that all programs are to say hello. Without the file,
 * programs in which nothing can call a hook do not; but they have CPU time and
 * allocations to record.
 */
#define SOCKET_PATH_ALL ".all"
/* The longest path of the socket for programs: the path of the other socket is
 * longer, and must have room, too. */
#define SOCKET_PATH_MAX (SOCKET_PATH_BYTES - sizeof(SOCKET_PATH_CTL))
_Static_assert(sizeof(SOCKET_PATH_ALL) <= sizeof(SOCKET_PATH_CTL), "room");
/* A symbolic link to the socket for `perfrec ctl`, in the folder of a recording
 * while it is made. */
#define SOCKET_PATH_LINK "control"

/* The next three return 0, or -errno after logging one line. */

/* Sets @out to @path, if it is not too long. */
int socket_path_copy(const char *path, char out[SOCKET_PATH_BYTES]);
/* Sets @out to the path where programs look if nobody has told them another. If
 * that is in a folder of this user's in the temporary folder, @make makes the
 * folder. */
int socket_path_usual(bool make, char out[SOCKET_PATH_BYTES]);
/* Sets @out to a path that nobody else can guess, in a new folder @folder,
 * which the caller removes. What was left there by collectors that were killed
 * together with their perfrec, a minute ago or longer, goes. With @all, the
 * folder is where other users could be let in. */
int socket_path_private(bool all, char folder[SOCKET_PATH_BYTES],
			char out[SOCKET_PATH_BYTES]);

/* Removes the folder that socket_path_private() made for @socket, with the
 * sockets in it, after a collector was killed. Touches nothing that is not
 * ours, that has another name than that function gives, or that holds anything
 * else.
 */
void socket_path_clean_up(const char *socket);

#endif
