/* SPDX-License-Identifier: Apache-2.0
 *
 * server - the socket by which programs find the collector. A connection
 * carries one hello and one reply (shared/wire.h).
 */
#ifndef PERFREC_COLLECTOR_SERVE_SERVER_H
#define PERFREC_COLLECTOR_SERVE_SERVER_H

#include <stdbool.h>

struct collector;
struct server;

/*
 * Listen where the options say, or where programs look when they say nothing;
 * for `perfrec record` in a private folder. Main thread, as all calls. 0 or
 * -errno; the log says what is wrong.
 */
int server_new(struct collector *collector, struct server **out);
/* Closes and removes the socket. */
void server_free(struct server **server);
/* The path of the socket. */
const char *server_path(const struct server *server);
/* Ends connections that have said nothing for too long, and frees those that
 * have ended. After each round of the loop, and every second or so. */
void server_reap(struct server *server);
/* Whether there are any, so that server_reap() has to come again soon. */
bool server_has_connections(const struct server *server);

#endif
