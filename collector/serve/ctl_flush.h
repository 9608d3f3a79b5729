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
#include <stdint.h>

struct arena;
struct collector;
struct ctl_flush;

/* Every call is for the main thread. */

/*
 * Begins to flush the recordings of @count sessions, for a client that waits
 * for @wait_ns at most. Returns 0 or -errno, and wakes the loop when files are
 * written. The caller owns *@out, and ends it with ctl_flush_leave().
 */
int ctl_flush_start(struct collector *collector, struct arena *const *arena,
		    size_t count, uint64_t wait_ns, struct ctl_flush **out);
/* Whether all files are written, or the client has waited long enough. The
 * caller asks in each round of the loop, because this call also takes the next
 * steps. */
bool ctl_flush_is_over(struct ctl_flush *flush);
/* Adds to @answer the members "flushed", which says what was written, and
 * "not_flushed", which says of which recordings not everything is. */
void ctl_flush_tell(struct ctl_flush *flush, json_t *answer);
/* The client needs *@flush no more, which is set to NULL. What has been begun
 * goes on: the flush is put on *@list. */
void ctl_flush_leave(struct ctl_flush **flush, struct ctl_flush **list);
/* Takes the next steps of all on *@list, and frees those that are done. In each
 * round of the loop. */
void ctl_flush_reap(struct ctl_flush **list);

#endif
