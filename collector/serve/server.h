/* SPDX-License-Identifier: Apache-2.0
 *
 * server - the socket for programs. A connection
 * carries one hello and one reply (shared/wire.h).
 */
#ifndef PERFREC_COLLECTOR_SERVE_SERVER_H
#define PERFREC_COLLECTOR_SERVE_SERVER_H

#include <stdbool.h>

struct collector;
struct server;

/* Listens on the socket of the options, or on the default socket; for `perfrec
 * record` in a private folder. All functions: main thread only. Returns 0, or
 * -errno after logging the error. */
int server_new(struct collector *collector, struct server **out);
/* Closes and removes the socket, and frees *@server. */
void server_free(struct server **server);
/* Returns the path of the socket, valid as long as @server. */
const char *server_path(const struct server *server);
/* Ends connections that were silent for too long, and frees ended ones. Call it
 * after each round of the loop, and about every second. */
void server_reap(struct server *server);
/* Receives pending messages of at most 1,024 connections without waiting. Call
 * it before server_free(): programs that cannot be recorded report this and
 * continue. */
void server_hear_rest(struct server *server);
/* Returns true if there are connections, so server_reap() must run again
 * soon. */
bool server_has_connections(const struct server *server);

#endif
