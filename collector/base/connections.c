/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/connections.h"

#include <stddef.h>

#include "collector/base/clock.h"
#include "collector/base/closer.h"

void connections_add(struct connections *connections,
		     struct connection *connection, int fd,
		     void (*ready)(struct watch *watch), uint64_t timeout_ns)
{
	connection->watch = (struct watch){ fd, ready };
	connection->deadline_ns = clock_boottime_ns() + timeout_ns;
	connection->next = connections->first;
	connections->first = connection;
	connections->count++;
	connection->ended = loop_add(connections->loop, &connection->watch) < 0;
}

void connections_end(struct connections *connections,
		     struct connection *connection)
{
	loop_remove(connections->loop, &connection->watch);
	connection->ended = true;
}

void connections_reap(struct connections *connections,
		      void (*late)(struct connection *connection),
		      void (*release)(struct connection *connection))
{
	struct connection **link = &connections->first, *connection;
	uint64_t now = connections->count ? clock_boottime_ns() : 0;

	while ((connection = *link)) {
		if (!connection->ended && now >= connection->deadline_ns) {
			if (late)
				late(connection);
			connections_end(connections, connection);
		}
		if (!connection->ended) {
			link = &connection->next;
			continue;
		}
		*link = connection->next;
		connections->count--;
		closer_close_socket(connection->watch.fd);
		release(connection);
	}
}

struct connection *connections_oldest(
	const struct connections *connections,
	bool (*counts)(const struct connection *connection,
		       const void *context),
	const void *context)
{
	struct connection *oldest = NULL;

	/* The list starts with the newest. */
	for (struct connection *one = connections->first; one; one = one->next)
		if (!one->ended && counts(one, context))
			oldest = one;
	return oldest;
}

uint32_t connections_of(const struct connections *connections,
			pid_t (*owner)(const struct connection *connection),
			pid_t pid)
{
	uint32_t count = 0;

	for (const struct connection *one = connections->first; one;
	     one = one->next)
		count += !one->ended && owner(one) == pid;
	return count;
}

struct connection *connections_of_most(
	const struct connections *connections,
	pid_t (*owner)(const struct connection *connection))
{
	struct connection *found = NULL;
	uint32_t most = 0, count;

	/* The list starts with the newest, so the last one with most is the
	 * oldest. */
	for (struct connection *one = connections->first; one;
	     one = one->next) {
		count = one->ended ? 0
				   : connections_of(connections, owner,
						    owner(one));
		if (count && count >= most) {
			most = count;
			found = one;
		}
	}
	return found;
}

void connections_close(struct connections *connections,
		       void (*release)(struct connection *connection))
{
	for (struct connection *one = connections->first; one; one = one->next)
		if (!one->ended)
			connections_end(connections, one);
	connections_reap(connections, NULL, release);
}
