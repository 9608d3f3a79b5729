/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_flush - brings the files of running recordings up to date.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_FLUSH_H
#define PERFREC_COLLECTOR_SERVE_CTL_FLUSH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct collector;
struct ctl_flush;

/* All functions: main thread only. */

/* Begins to flush the recordings of @count sessions. The client waits at most
 * @wait_ns. Wakes the loop when files are written. Returns 0 or -errno. The
 * caller ends *@out by ctl_flush_leave(). */
int ctl_flush_start(struct collector *collector, struct arena *const *arena,
		    size_t count, uint64_t wait_ns, struct ctl_flush **out);
/* Returns true if all files are written or the client's time is over. Also
 * begins the next steps, so call it in each round of the loop. */
bool ctl_flush_is_over(struct ctl_flush *flush);
/* Adds "flushed" and "not_flushed" (with reasons) to @answer. */
void ctl_flush_tell(struct ctl_flush *flush, json_t *answer);
/* Detaches the client and sets *@flush to NULL. Steps under way continue: the
 * flush moves to *@list. */
void ctl_flush_leave(struct ctl_flush **flush, struct ctl_flush **list);
/* Begins the next steps of the flushes in *@list, and frees finished ones. Call
 * it in each round of the loop. */
void ctl_flush_reap(struct ctl_flush **list);

#endif
