/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_flush - make the files of some recordings complete up to now, while they
 * go on.
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

/* Begins to flush the recordings of these sessions: 0 or -errno. Wakes the
 * loop when it is done; the caller ends *@out with ctl_flush_end(), then and
 * not before. */
int ctl_flush_start(struct collector *collector, struct arena *const *arena,
		    size_t count, struct ctl_flush **out);
/* To be asked again and again: it is what drives it. */
bool ctl_flush_is_done(struct ctl_flush *flush);
/* Adds "flushed", what was written, to @answer; frees *@flush. */
void ctl_flush_end(struct ctl_flush **flush, json_t *answer);

#endif
