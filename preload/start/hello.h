/* SPDX-License-Identifier: Apache-2.0
 *
 * hello - find the collector, give it the arena, take its settings.
 */
#ifndef PERFREC_PRELOAD_START_HELLO_H
#define PERFREC_PRELOAD_START_HELLO_H

#include "preload/core/settings.h"
#include "shared/ring_shm.h"
#include "shared/wire.h"

/* What a hello that succeeded brought. The mappings last for the process. */
struct hello_result {
	struct page_shm *page;
	const struct liveness_shm *liveness;
	struct wire_hello hello;
	struct wire_reply reply;
	bool connected; /* there is a collector, whatever came of it */
};

/* Whether there is a socket where a collector would have one, or a file beside
 * it with @suffix (of at most 7 bytes) behind its name. */
bool hello_has_socket(const struct settings *settings, const char *suffix);

/*
 * Connect, make the arena, send the hello and wait for the reply: all within
 * WIRE_DEADLINE_MS, and with no descriptor left open. Returns NULL, or why
 * there is nothing to record to; *@detail then belongs behind it ("" if
 * nothing). Signals are blocked by the caller.
 */
const char *hello(const struct settings *settings, struct hello_result *result,
		  const char **detail);

#endif
