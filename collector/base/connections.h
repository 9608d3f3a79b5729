/* SPDX-License-Identifier: Apache-2.0
 *
 * connections - the open connections of a server, each with a time limit. Only
 * for the thread of the event loop (loop.h). The loop may still have events for
 * a connection that has ended, so connections_reap() frees it later.
 */
#ifndef PERFREC_COLLECTOR_BASE_CONNECTIONS_H
#define PERFREC_COLLECTOR_BASE_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/loop.h"

/* The first member of a server's own struct for a connection. */
struct connection {
	struct watch watch;
	uint64_t deadline_ns; /* BOOTTIME; UINT64_MAX: no limit */
	bool ended;
	struct connection *next;
};

struct connections {
	int loop;
	struct connection *first;
	uint32_t count;
};

/* Adds @connection, allocated by the server, and its socket @fd. The loop calls
 * @ready when the socket can be read. The connection times out after
 * @timeout_ns. */
void connections_add(struct connections *connections,
		     struct connection *connection, int fd,
		     void (*ready)(struct watch *watch), uint64_t timeout_ns);
/* Ends @connection: @ready is not called any more. May be called twice. */
void connections_end(struct connections *connections,
		     struct connection *connection);
/*
 * Ends timed-out connections after a call of @late (may be NULL) for each.
 * Closes all ended connections and calls @release, which frees the server's
 * memory. Descriptors that a peer sent and nobody received cannot block this
 * (closer.h).
 */
void connections_reap(struct connections *connections,
		      void (*late)(struct connection *connection),
		      void (*release)(struct connection *connection));
/* Returns the oldest open connection that @counts(connection, @context)
 * accepts, or NULL. */
struct connection *connections_oldest(
	const struct connections *connections,
	bool (*counts)(const struct connection *connection,
		       const void *context),
	const void *context);
uint32_t connections_of(const struct connections *connections,
			pid_t (*owner)(const struct connection *connection),
			pid_t pid);
/* Returns the oldest connection of the process with most connections, or NULL.
 * On a tie the process with the oldest connection wins, because a new peer may
 * be about to send. */
struct connection *connections_of_most(
	const struct connections *connections,
	pid_t (*owner)(const struct connection *connection));
void connections_close(struct connections *connections,
		       void (*release)(struct connection *connection));

#endif
