/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_snapshot - `perfrec ctl snapshot`: takes snapshots of recordings with
 * --flight, and says where they are when they are on the disk. All calls are
 * for the main thread.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_SNAPSHOT_H
#define PERFREC_COLLECTOR_SERVE_CTL_SNAPSHOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct collector;
struct ctl_snapshot;

/* Asks for a snapshot of each recording that the @count programs of @arena are
 * recorded into, because of @why, a text for people. 0: the caller ends *@out
 * by ctl_snapshot_end(); -ENOMEM; or -EINVAL: no recording has --flight. */
int ctl_snapshot_start(struct collector *collector, struct arena *const *arena,
		       size_t count, const char *why, uint64_t wait_ns,
		       struct ctl_snapshot **out);
/* Whether all are on the disk, have failed, or @wait_ns have passed. */
bool ctl_snapshot_is_over(struct ctl_snapshot *snapshot);
/* Adds what came of it to @answer, unless that is NULL, and frees *@snapshot.
 * What has not been written yet will be. */
void ctl_snapshot_end(struct ctl_snapshot **snapshot, json_t *answer);

#endif
