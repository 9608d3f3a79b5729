/* SPDX-License-Identifier: Apache-2.0
 *
 * filter_names - with --filter or --exclude a drain worker needs the names of
 * functions before it counts their calls. It never waits for names: the jobs
 * thread of the recording reads the symbol tables of all modules. Until then
 * the rings of the program stay unread.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_FILTER_NAMES_H
#define PERFREC_COLLECTOR_DRAIN_FILTER_NAMES_H

#include <stdbool.h>

struct arena;

/* Marks the first tables of @arena's program as pending. The caller posts the
 * job that reads them and then calls filter_names_done(). Main thread. */
void filter_names_begin(struct arena *arena);
void filter_names_done(struct arena *arena);
/* Returns true if the rings of @arena have to wait. Any thread; never blocks.
 */
bool filter_names_lag(struct arena *arena);
/* Like filter_names_lag(), for all records up to now. Posts a job that reads
 * the tables if the program has loaded modules since the last call. For arenas
 * of recordings with filters. Drain workers; never blocks. */
bool filter_names_lag_now(struct arena *arena);

#endif
