/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_snapshot - `perfrec ctl snapshot`: takes snapshots of recordings with
 * --flight and reports their folders when these are on the disk. All functions:
 * main thread only.
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

/* Requests a snapshot of each recording of the @count programs. @why is a text
 * for people. Returns 0, -ENOMEM, or -EINVAL: no recording has --flight. The
 * caller ends *@out by ctl_snapshot_end(). */
int ctl_snapshot_start(struct collector *collector, struct arena *const *arena,
		       size_t count, const char *why, uint64_t wait_ns,
		       struct ctl_snapshot **out);
/* Returns true if all snapshots are on the disk or failed, or @wait_ns is
 * over. */
bool ctl_snapshot_is_over(struct ctl_snapshot *snapshot);
/* Adds the results to @answer (may be NULL) and frees *@snapshot. Unwritten
 * snapshots are still written later. */
void ctl_snapshot_end(struct ctl_snapshot **snapshot, json_t *answer);

#endif
