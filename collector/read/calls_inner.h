/* SPDX-License-Identifier: Apache-2.0
 *
 * calls_inner - what the parts of calls.h share: calls.c takes events,
 * calls_index.c and calls_counters.c what the index tells.
 */
#ifndef PERFREC_COLLECTOR_READ_CALLS_INNER_H
#define PERFREC_COLLECTOR_READ_CALLS_INNER_H

#include "collector/read/calls.h"

/* --- calls.c --- */

/* The number of the thread of @track; 0: no room, or NULL. */
uint32_t calls_thread_of(struct calls *calls, const struct trace_track *track);
/* The node of @name called by @parent, which is made if there is none. 0: there
 * is no room. */
uint32_t calls_child(struct calls *calls, uint32_t parent, uint32_t name);

/* --- calls_index.c --- */

/* Adds the chunks that the window leaves out. @folds: see struct calls_choice.
 * 0, -EIO or -ENOMEM. */
int calls_index_add(struct calls *calls, bool folds);

/* --- calls_counters.c --- */

/* Fills in calls->curves by the curves of choice->index, roughly: nothing else
 * is read. calls->totals are known. Without curves in the index, or of a thread
 * alone, sets calls->no_counters. 0; or -errno of curves_read(). */
int calls_counters_add(struct calls *calls, const char *path,
		       const struct calls_choice *choice);

#endif
