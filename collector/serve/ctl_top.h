/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_top - costs of functions up to now, for `perfrec top`. Writes no files.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_TOP_H
#define PERFREC_COLLECTOR_SERVE_CTL_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct collector;
struct ctl_top;

/* All functions: main thread only. */

/* Begins to add up the recordings of @count sessions. Wakes the loop when the
 * sums are complete. Returns 0 or -errno. The caller ends *@out by
 * ctl_top_end(), but only after ctl_top_is_done() has returned true. */
int ctl_top_start(struct collector *collector, struct arena *const *arena,
		  size_t count, struct ctl_top **out);
/* Returns true if the sums are complete. Also begins the next step, so call it
 * in each round of the loop. */
bool ctl_top_is_done(struct ctl_top *top);
/* Adds the member "top" (ctl_wire.h) to @answer. Frees *@top and sets it to
 * NULL. */
void ctl_top_end(struct ctl_top **top, json_t *answer);

#endif
