/* SPDX-License-Identifier: Apache-2.0
 *
 * hello - finds the collector, sends it the arena and receives its settings
 * (docs/WIRE.md).
 */
#ifndef PERFREC_PRELOAD_START_HELLO_H
#define PERFREC_PRELOAD_START_HELLO_H

#include <stddef.h>
#include <sys/un.h>

#include "preload/core/settings.h"
#include "shared/ring_shm.h"
#include "shared/wire.h"

/* The result of a hello. The mappings of a successful one are permanent. */
struct hello_result {
	struct page_shm *page;
	const struct liveness_shm *liveness;
	struct wire_hello hello;
	struct wire_reply reply;
	bool connected; /* to a collector, even if hello failed */
	bool unheld; /* recording starts, but control was still HOLD */
};

/* Returns true if a collector's socket exists in one of its places, with
 * @suffix (at most 7 bytes) appended to its name. */
bool hello_has_socket(const struct settings *settings, const char *suffix);

/* Bytes for the path of a socket and a suffix. */
#define HELLO_SOCKET_BYTES (sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8)

/* hello_has_socket() that also sets @path to the file. */
bool hello_find_socket(const struct settings *settings, const char *suffix,
		       char path[HELLO_SOCKET_BYTES]);

/*
 * Connects, makes the arena, sends hello, and waits for the reply and until
 * control is not HOLD, all within settings->deadline_ms. Leaves no descriptor
 * open. Returns NULL and fills @result; or returns why nothing can be recorded,
 * and sets *@detail to the rest of that sentence, or "". The caller has blocked
 * signals.
 */
const char *hello(const struct settings *settings, struct hello_result *result,
		  const char **detail);

/*
 * Reports this forked child to the collector of hello(), with a descriptor of
 * its memory: functions may be off in the text that it has from its parent.
 * Expects no answer and ignores errors. Takes at most 2 ms. Makes system calls;
 * any context.
 */
void hello_from_child(void);

/* Permits the collector of hello() to trace this forked child, because children
 * do not inherit the permission. Makes system calls; any context. */
void hello_permit_child(void);

#endif
