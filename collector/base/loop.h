/* SPDX-License-Identifier: Apache-2.0
 *
 * loop - the main thread's event loop: epoll, with a callback for each
 * descriptor.
 */
#ifndef PERFREC_COLLECTOR_BASE_LOOP_H
#define PERFREC_COLLECTOR_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* Part of whatever owns the descriptor. Level triggered. */
struct watch {
	int fd;
	void (*ready)(struct watch *watch);
};

/* An epoll descriptor, or -errno. */
int loop_new(void);
/* Any thread. 0 or -errno. */
int loop_add(int loop, struct watch *watch);
/* Call back when @watch's descriptor can be written to, rather than read. */
void loop_write(int loop, struct watch *watch);
/* The loop's thread only: @watch may be freed when loop_run_once() has
 * returned. */
void loop_remove(int loop, struct watch *watch);
/* Wait at most @timeout_ms (-1: for ever) and call back what is ready. A
 * callback may remove any watch, and free only what is no watch. */
void loop_run_once(int loop, int timeout_ms);

#endif
