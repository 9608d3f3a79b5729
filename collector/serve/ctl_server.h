/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_server - the socket of `perfrec ctl`, next to the socket for programs.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_SERVER_H
#define PERFREC_COLLECTOR_SERVE_CTL_SERVER_H

#include <stdbool.h>

struct collector;
struct ctl_server;

/* All functions: main thread only. */

/* Listens next to @socket_path. Call it before other threads exist. Returns 0,
 * or -errno after logging one line. The caller frees *@out. */
int ctl_server_new(struct collector *collector, const char *socket_path,
		   struct ctl_server **out);
/* Creates a link to the socket in the folder @dir for `perfrec ctl -o DIR`.
 * Logs a warning on failure. */
void ctl_server_link(struct ctl_server *server, const char *dir);
/* Stops listening and removes the socket and the link. @server may be NULL or
 * closed. */
void ctl_server_close(struct ctl_server *server);
/* Answers all waiting clients, including those of `perfrec ctl stop`. Call it
 * after all other parts have ended. Frees *@server, which may be NULL, and sets
 * it to NULL. */
void ctl_server_free(struct ctl_server **server);
/* Answers fulfilled requests and ends slow connections. Call it after each
 * round of the loop. */
void ctl_server_reap(struct ctl_server *server);
/* Returns true while a request needs the jobs thread. */
bool ctl_server_is_busy(const struct ctl_server *server);
/* Returns true if ctl_server_reap() must run soon: there are clients or
 * flushes. */
bool ctl_server_has_connections(const struct ctl_server *server);

#endif
