/* SPDX-License-Identifier: Apache-2.0
 *
 * hello - find the collector, give it the arena, take its settings
 * (docs/WIRE.md).
 */
#ifndef PERFREC_PRELOAD_START_HELLO_H
#define PERFREC_PRELOAD_START_HELLO_H

#include <stddef.h>
#include <sys/un.h>

#include "preload/core/settings.h"
#include "shared/ring_shm.h"
#include "shared/wire.h"

/* What came of a hello. If it succeeded, the mappings last as long as the
 * process. */
struct hello_result {
	struct page_shm *page;
	const struct liveness_shm *liveness;
	struct wire_hello hello;
	struct wire_reply reply;
	bool connected; /* there is a collector, even if the hello failed */
	bool unheld; /* control was HOLD until the deadline: recording starts
		      * all the same */
};

/* Whether there is a collector's socket in any of its places; or, if @suffix
 * (of at most 7 bytes) is not "", a file of the socket's name with @suffix
 * behind it. */
bool hello_has_socket(const struct settings *settings, const char *suffix);

/* Bytes for the path of a socket and a suffix. */
#define HELLO_SOCKET_BYTES (sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8)

/* As hello_has_socket(); @path becomes the path of the socket. */
bool hello_find_socket(const struct settings *settings, const char *suffix,
		       char path[HELLO_SOCKET_BYTES]);

/*
 * Connect, make the arena, send the hello, wait for the reply and until control
 * is not HOLD: all within settings->deadline_ms, and no descriptor is left
 * open. Returns NULL, with
 * @result filled in; or why there is nothing to record to, and *@detail, which
 * belongs behind that sentence ("" if nothing does). The caller has blocked
 * signals.
 */
const char *hello(const struct settings *settings, struct hello_result *result,
		  const char **detail);

/*
 * Tell the collector that hello() has found that this is a forked child, and
 * give it our memory: our text is as our parent's, where functions may be off.
 * It does not answer. Where it cannot be reached nothing happens. Takes 2 ms at
 * most. Any context in which system calls may be made.
 */
void hello_from_child(void);

/* In a forked child: what was permitted to the collector at the hello is not
 * inherited. Does so again. As hello_from_child(). */
void hello_permit_child(void);

#endif
