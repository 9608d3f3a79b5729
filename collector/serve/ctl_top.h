/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_top - for `perfrec top`: what each function of some recordings cost up to
 * now. No file is written.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_TOP_H
#define PERFREC_COLLECTOR_SERVE_CTL_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct collector;
struct ctl_top;

/* Every call is for the main thread. */

/*
 * Begins to sum up the recordings of @count sessions. Returns 0 or -errno, and
 * wakes the loop when the sums are there. The caller owns *@out, and ends it
 * with ctl_top_end() when ctl_top_is_done() says so, not before.
 */
int ctl_top_start(struct collector *collector, struct arena *const *arena,
		  size_t count, struct ctl_top **out);
/* Whether the sums are there. The caller asks in each round of the loop,
 * because this call also starts the next step. */
bool ctl_top_is_done(struct ctl_top *top);
/* Adds the member "top" (ctl_wire.h) to @answer. Frees *@top, and sets it to
 * NULL. */
void ctl_top_end(struct ctl_top **top, json_t *answer);

#endif
