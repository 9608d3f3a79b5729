/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_watch - reports the end of a thread, by destructors of thread-specific
 * data.
 *
 * The program's destructors may record spans. They run in the order of their
 * keys, in up to PTHREAD_DESTRUCTOR_ITERATIONS rounds. So the shim's first one
 * runs at the start of the first round, just after the thread's function, and
 * its last one as late as possible in the last round.
 */
#ifndef PERFREC_PRELOAD_CORE_THREAD_WATCH_H
#define PERFREC_PRELOAD_CORE_THREAD_WATCH_H

#include <stdbool.h>

/* Makes the keys, once, while recording starts. In watched threads @left is the
 * first destructor, @over the last; neither runs without free keys. */
void thread_watch_init(void (*left)(void), void (*over)(void));

/* Watches this thread. Takes no lock and does not allocate. */
void thread_watch(void);

/* Watches for over() only. Returns false if that is impossible. */
bool thread_watch_over(void);

#endif
