/* SPDX-License-Identifier: Apache-2.0
 *
 * loop - the main thread's event loop: epoll, with a callback for each
 * descriptor.
 */
#ifndef PERFREC_COLLECTOR_BASE_LOOP_H
#define PERFREC_COLLECTOR_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* A member of whatever owns the descriptor. ready() is called again as long as
 * there is something to read. */
struct watch {
	int fd;
	void (*ready)(struct watch *watch);
};

/* Returns an epoll descriptor, which the caller closes, or -errno. */
int loop_new(void);
/* Has the loop call @watch->ready(@watch) when its descriptor can be read.
 * @watch must stay. 0 or -errno. Any thread. */
int loop_add(int loop, struct watch *watch);
/* From now on ready() is called when the descriptor can be written to, and not
 * when it can be read. Any thread. */
void loop_write(int loop, struct watch *watch);
/* Forgets @watch, which may be freed when loop_run_once() has returned.
 * Harmless when it was removed before. Only on the loop's thread. */
void loop_remove(int loop, struct watch *watch);
/* Waits at most @timeout_ms (-1: for ever), and calls ready() of the watches
 * that are. A callback may remove any watch, but must not free one. */
void loop_run_once(int loop, int timeout_ms);

#endif
