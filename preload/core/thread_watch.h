/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_watch - hear of a thread's end, by destructors of thread-specific
 * data.
 *
 * Destructors of the program may record, too. They run in the order of their
 * keys, in up to PTHREAD_DESTRUCTOR_ITERATIONS rounds. So one of ours is the
 * first of the first round, where the thread's function has just been left; and
 * one runs as late as can be in the last round, when the thread is over.
 */
#ifndef PERFREC_PRELOAD_CORE_THREAD_WATCH_H
#define PERFREC_PRELOAD_CORE_THREAD_WATCH_H

#include <stdbool.h>

/* Once, while recording starts: from now on @left is called first in a thread
 * that is watched and ends, and @over last. Without free keys they are not. */
void thread_watch_init(void (*left)(void), void (*over)(void));

/* Watch this thread. Takes no lock and allocates nothing. */
void thread_watch(void);

/* Have only over() called for this thread. False: that cannot be. Likewise. */
bool thread_watch_over(void);

#endif
