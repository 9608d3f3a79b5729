/* SPDX-License-Identifier: Apache-2.0
 *
 * socket_path - paths of the collector's sockets: the one for programs, and
 * beside it the one for `perfrec ctl`.
 */
#ifndef PERFREC_COLLECTOR_BASE_SOCKET_PATH_H
#define PERFREC_COLLECTOR_BASE_SOCKET_PATH_H

#include <stdbool.h>
#include <sys/un.h>

#define SOCKET_PATH_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)
#define SOCKET_PATH_CTL ".ctl"
/*
 * An empty file with this suffix beside the socket for programs makes all
 * programs say hello (preload/start/init.c). Without the file, programs that
 * cannot call a hook do not connect, although they have CPU time and
 * allocations to record.
 */
#define SOCKET_PATH_ALL ".all"
/* The longest path of the socket for programs; the path of the other socket is
 * longer and must also fit. */
#define SOCKET_PATH_MAX (SOCKET_PATH_BYTES - sizeof(SOCKET_PATH_CTL))
_Static_assert(sizeof(SOCKET_PATH_ALL) <= sizeof(SOCKET_PATH_CTL), "room");
/* A symbolic link to the socket for `perfrec ctl`, in the folder of an active
 * recording. */
#define SOCKET_PATH_LINK "control"

/* Returns the path in PERFREC_SOCKET, which belongs to the environment; NULL if
 * it is unset or empty. */
const char *socket_path_of_environment(void);

/* The next three functions return 0, or -errno after logging one line. */

int socket_path_copy(const char *path, char out[SOCKET_PATH_BYTES]);
/* Sets @out to the default path, where programs look without other settings.
 * @make: create this user's folder in the temporary folder if the path needs
 * it. */
int socket_path_usual(bool make, char out[SOCKET_PATH_BYTES]);
/* Sets @out to an unpredictable path in a new folder @folder, which the caller
 * removes. Also removes folders of collectors that were killed with their
 * perfrec at least a minute ago. @all: place the folder where other users can
 * reach it. */
int socket_path_private(bool all, char folder[SOCKET_PATH_BYTES],
			char out[SOCKET_PATH_BYTES]);

/* Returns true if a collector listens beside the socket @path for programs. */
bool socket_path_is_served(const char *path);

/* Returns the number of collectors that this user's perfrec record runs now, and
 * sets @out to the socket of one. */
size_t socket_path_running(char out[SOCKET_PATH_BYTES]);

/* Removes the folder of socket_path_private() for @socket and the sockets in
 * it, after a collector was killed. Touches only folders of this user with such
 * a name, and removes no other files. */
void socket_path_clean_up(const char *socket);

#endif
