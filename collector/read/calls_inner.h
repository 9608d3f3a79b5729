/* SPDX-License-Identifier: Apache-2.0
 *
 * calls_inner - shared by the parts of calls.h: calls.c reads events,
 * calls_index.c and calls_counters.c read the index.
 */
#ifndef PERFREC_COLLECTOR_READ_CALLS_INNER_H
#define PERFREC_COLLECTOR_READ_CALLS_INNER_H

#include "collector/read/calls.h"

/* --- calls.c --- */

/* Returns true if counter @track is a band. *@out becomes the band, which the first
 * call makes, or NULL: a later process has bands, or there is no room or memory. */
bool calls_find_band(struct calls *calls, const struct trace_track *track,
		     struct calls_curve **out);

/* Returns an empty curve for @track. Without room it replaces the curve of this
 * name with the lowest peak below @peak, and counts its points as refused. NULL: no
 * such curve, or no memory. */
struct calls_curve *calls_curve_place(struct calls *calls,
				      const struct trace_track *track,
				      uint64_t peak);

/* --- calls_index.c --- */

/* Adds the chunks that the window skips. @folds: see struct calls_choice.
 * Returns 0, -EIO or -ENOMEM. */
int calls_index_add(struct calls *calls, bool folds);

/* --- calls_counters.c --- */

/* Fills in calls->curves from the curves of choice->index, roughly and without
 * reading the trace. Needs calls->tree.totals. Sets calls->no_counters for a single
 * thread, or if the index has no curves. Returns 0, or -errno of
 * curves_read(). */
int calls_counters_add(struct calls *calls, const char *path,
		       const struct calls_choice *choice);

#endif
