/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_server - the socket of `perfrec ctl`, beside the one for programs.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_SERVER_H
#define PERFREC_COLLECTOR_SERVE_CTL_SERVER_H

#include <stdbool.h>

struct collector;
struct ctl_server;

/* All calls are for the main thread. */

/*
 * Listens beside @socket_path, before other threads exist. Returns 0, or -errno
 * after one line in the log. The caller ends *@out with ctl_server_free().
 */
int ctl_server_new(struct collector *collector, const char *socket_path,
		   struct ctl_server **out);
/* Makes a link to the socket in the folder @dir: `perfrec ctl -o DIR` looks for
 * it. If that fails, a warning is logged. */
void ctl_server_link(struct ctl_server *server, const char *dir);
/* Listens no more, and removes the socket and the link. @server may be NULL, or
 * closed already. */
void ctl_server_close(struct ctl_server *server);
/* Answers all clients that still wait, as those that asked the collector to
 * end, when all other parts have ended. Frees *@server, which may be NULL, and
 * sets it to NULL. */
void ctl_server_free(struct ctl_server **server);
/* Answers the clients whose request is fulfilled, and ends connections that are
 * too slow. After each round of the loop. */
void ctl_server_reap(struct ctl_server *server);
/* Whether a flush is under way: it has to end before the jobs thread does. */
bool ctl_server_is_busy(const struct ctl_server *server);
/* Whether there are clients or flushes, so that ctl_server_reap() must be
 * called soon. */
bool ctl_server_has_connections(const struct ctl_server *server);

#endif
