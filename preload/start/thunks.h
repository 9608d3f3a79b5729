/* SPDX-License-Identifier: Apache-2.0
 *
 * thunks - what the program offers the collector so that it can change states
 * of functions (function_shm.h). All of it is optional: whatever is refused
 * here, the program is recorded.
 */
#ifndef PERFREC_PRELOAD_START_THUNKS_H
#define PERFREC_PRELOAD_START_THUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "shared/ring_shm.h"
#include "shared/wire.h"

struct thunk_offer {
	int fd[2]; /* what belongs behind the arena's in the hello */
	size_t count;
};

/* Make the thunk area, map it, and open this process' memory; fills in
 * ask->fds, for an arena of the size that @ask says. To be called before the
 * arena is mapped. Once, while recording starts. */
struct thunk_offer thunks_offer(struct wire_hello *ask);
/* Say in @page what the collector must know, if an area was made. */
void thunks_describe(struct page_shm *page);
/* Close what @offer has opened, unless that was done. */
void thunks_close(struct thunk_offer *offer);
/* No hello was sent: unmap the area, and say so in @ask. */
void thunks_withdraw(struct wire_hello *ask);

/* This is a forked child, with one thread. Any context in which system calls
 * may be made. */
void thunks_forked(void);

/* /proc/self/mem, to read and to write, or -errno. Any context in which system
 * calls may be made. */
long thunks_open_memory(void);

#endif
