/* SPDX-License-Identifier: Apache-2.0
 *
 * filter_names - with --filter or --exclude a drain worker must know the names
 * of functions before it may count their calls. It never waits for them: the
 * thread of the recording's jobs reads the symbol tables of all modules, and
 * until it has, the rings of that program are left as they are.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_FILTER_NAMES_H
#define PERFREC_COLLECTOR_DRAIN_FILTER_NAMES_H

#include <stdbool.h>

struct arena;

/* The first tables of @arena's program are about to be read, by a job of the
 * caller's, which says when: filter_names_done(). Main thread. */
void filter_names_begin(struct arena *arena);
void filter_names_done(struct arena *arena);
/* Whether the rings of @arena have to wait. Any thread; never waits. */
bool filter_names_lag(struct arena *arena);
/* The same, for what was recorded up to now: if the program has loaded modules
 * since the last time, has their tables read. For arenas of recordings with
 * filters. Drain workers; never waits. */
bool filter_names_lag_now(struct arena *arena);

#endif
