/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_server - the socket of `perfrec ctl`, beside the one for programs.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_SERVER_H
#define PERFREC_COLLECTOR_SERVE_CTL_SERVER_H

#include <stdbool.h>

struct collector;
struct ctl_server;

/*
 * Listen beside @socket_path. Main thread, as all calls, and before other
 * threads exist. 0, or -errno after logging one line.
 */
int ctl_server_new(struct collector *collector, const char *socket_path,
		   struct ctl_server **out);
/* Make @dir's link to the socket, by which `perfrec ctl -o DIR` finds it. */
void ctl_server_link(struct ctl_server *server, const char *dir);
/* Listens no more, and removes socket and link; NULL is no server. */
void ctl_server_close(struct ctl_server *server);
/* Answers who asked for our end, too. All other parts have ended. */
void ctl_server_free(struct ctl_server **server);
/* Answers those whose wish is fulfilled, ends connections that are too slow.
 * After each round of the loop. */
void ctl_server_reap(struct ctl_server *server);
/* Whether something is under way that has to end before the jobs thread. */
bool ctl_server_is_busy(const struct ctl_server *server);
/* Whether there are any, so that ctl_server_reap() has to come again soon. */
bool ctl_server_has_connections(const struct ctl_server *server);

#endif
