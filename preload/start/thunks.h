/* SPDX-License-Identifier: Apache-2.0
 *
 * thunks - resources that let the collector change states of functions
 * (function_shm.h). All are optional: the program is recorded without them.
 */
#ifndef PERFREC_PRELOAD_START_THUNKS_H
#define PERFREC_PRELOAD_START_THUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "shared/ring_shm.h"
#include "shared/wire.h"

struct thunk_offer {
	int fd[2]; /* to send behind the arena's */
	size_t count;
};

/* Makes the thunk area, maps it, and opens this process's memory; sets
 * ask->fds. @ask has the size of the arena, which must not be mapped yet. @folder:
 * for the area's file (thunk_image.h), or NULL. Once, while recording starts. */
struct thunk_offer thunks_offer(struct wire_hello *ask, const char *folder);
/* Describes the area in @page, if one was made. */
void thunks_describe(struct page_shm *page);
/* Closes the descriptors of @offer, once. */
void thunks_close(struct thunk_offer *offer);
/* Unmaps the area and removes it from @ask, if no hello was sent. */
void thunks_withdraw(struct wire_hello *ask);

/* Registers a forked child, with one thread. System calls; any context. */
void thunks_forked(void);

/* Opens /proc/self/mem read-write, or -errno. System calls; any context. */
long thunks_open_memory(void);

#endif
