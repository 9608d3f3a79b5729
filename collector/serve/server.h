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
/* Close and remove the socket, and free *@server. */
void server_free(struct server **server);
/* The path of the socket; it lives as long as @server. */
const char *server_path(const struct server *server);
/* End connections that have said nothing for too long, and free those that have
 * ended. To be called after each round of the loop, and every second or so. */
void server_reap(struct server *server);
/* Take in what programs have said already, without waiting for any, at most
 * 1,024 of them. To be called before server_free(): programs that cannot be
 * recorded say so and go on. */
void server_hear_rest(struct server *server);
/* Whether there is any connection: then server_reap() is to be called again
 * soon. */
bool server_has_connections(const struct server *server);

#endif
