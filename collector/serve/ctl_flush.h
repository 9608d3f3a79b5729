/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_flush - makes the files of some recordings complete up to now, while the
 * recordings go on.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_FLUSH_H
#define PERFREC_COLLECTOR_SERVE_CTL_FLUSH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct collector;
struct ctl_flush;

/* Every call is for the main thread. */

/*
 * Begins to flush the recordings of @count sessions. Returns 0 or -errno, and
 * wakes the loop when the files are written. The caller owns *@out, and ends it
 * with ctl_flush_end() when ctl_flush_is_done() says so, not before.
 */
int ctl_flush_start(struct collector *collector, struct arena *const *arena,
		    size_t count, struct ctl_flush **out);
/* Whether the files are written. The caller asks in each round of the loop,
 * because this call also starts the next step. */
bool ctl_flush_is_done(struct ctl_flush *flush);
/* Adds the member "flushed", which says what was written, to @answer. Frees
 * *@flush, and sets it to NULL. */
void ctl_flush_end(struct ctl_flush **flush, json_t *answer);

#endif
