/* SPDX-License-Identifier: Apache-2.0
 *
 * loop - the main thread's event loop: epoll, with a callback for each
 * descriptor.
 */
#ifndef PERFREC_COLLECTOR_BASE_LOOP_H
#define PERFREC_COLLECTOR_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* A member of the owner of the descriptor. The loop calls ready() whenever the
 * descriptor can be read (level-triggered). */
struct watch {
	int fd;
	void (*ready)(struct watch *watch);
};

int loop_new(void);
/* Adds @watch, which must stay valid. Returns 0 or -errno. Any thread. */
int loop_add(int loop, struct watch *watch);
/* From now on the loop calls ready() when the descriptor can be written, not
 * when it can be read. Any thread. */
void loop_write(int loop, struct watch *watch);
/* Removes @watch. The caller may free it once loop_run_once() has returned.
 * Harmless if repeated. Only on the loop's thread. */
void loop_remove(int loop, struct watch *watch);
/* Waits at most @timeout_ms (-1: for ever) and calls ready() of each ready
 * watch. A callback may remove any watch but must not free one. */
void loop_run_once(int loop, int timeout_ms);

#endif
