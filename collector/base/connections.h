/* SPDX-License-Identifier: Apache-2.0
 *
 * connections - the open connections of a server, each with a time limit. All
 * on the thread of the event loop (loop.h). A connection may end while the loop
 * still has events for it, so it is freed later, by connections_reap().
 */
#ifndef PERFREC_COLLECTOR_BASE_CONNECTIONS_H
#define PERFREC_COLLECTOR_BASE_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/loop.h"

/* The first member of what a server has for each connection. */
struct connection {
	struct watch watch; /* of its socket */
	uint64_t deadline_ns; /* BOOTTIME; UINT64_MAX: it has all the time */
	bool ended;
	struct connection *next;
};

struct connections {
	int loop;
	struct connection *first;
	uint32_t count;
};

/* Adds @connection, which its server has allocated, and takes over its socket
 * @fd. @ready is called when the peer says something. The connection has
 * @timeout_ns from now on. */
void connections_add(struct connections *connections,
		     struct connection *connection, int fd,
		     void (*ready)(struct watch *watch), uint64_t timeout_ns);
/* Ends @connection: nothing more is heard of it. May be called twice. */
void connections_end(struct connections *connections,
		     struct connection *connection);
/*
 * Ends the connections whose time is over, after @late (NULL: nothing is to be
 * done) has been called with each. Closes all that have ended and calls
 * @release with each, which frees what the server allocated. Descriptors that a
 * peer has sent and nobody received do not hold this up (closer.h).
 */
void connections_reap(struct connections *connections,
		      void (*late)(struct connection *connection),
		      void (*release)(struct connection *connection));
/* The connection that was added first of those that have not ended and for
 * which @counts, called with @context, is true; NULL: there is none. */
struct connection *connections_oldest(
	const struct connections *connections,
	bool (*counts)(const struct connection *connection,
		       const void *context),
	const void *context);
/* How many of those that have not ended are of @pid. @owner: whose process a
 * connection is. */
uint32_t connections_of(const struct connections *connections,
			pid_t (*owner)(const struct connection *connection),
			pid_t pid);
/* The connection that was added first of the process that has most, of several
 * such processes the one with the oldest: what has only just come may still be
 * about to speak. NULL: there is none. */
struct connection *connections_of_most(
	const struct connections *connections,
	pid_t (*owner)(const struct connection *connection));
/* Ends all of them, and @releases them in the same way. */
void connections_close(struct connections *connections,
		       void (*release)(struct connection *connection));

#endif
