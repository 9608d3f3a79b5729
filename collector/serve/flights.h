/* SPDX-License-Identifier: Apache-2.0
 *
 * flights - takes the snapshots of all recordings with --flight. Waits until
 * the margin after a trigger is over and the rings are drained up to there. All
 * functions: main thread only.
 */
#ifndef PERFREC_COLLECTOR_SERVE_FLIGHTS_H
#define PERFREC_COLLECTOR_SERVE_FLIGHTS_H

#include <stdbool.h>

struct collector;
struct flights;

/* Sets *@out to NULL without --flight. Returns 0 or -ENOMEM. The caller frees
 * *@out. */
int flights_new(struct collector *collector, struct flights **out);
/* Begins the next steps; never blocks. Call it about every HEARTBEAT_NS. */
void flights_beat(struct flights *flights);
/* Returns true if a snapshot is under way. */
bool flights_are_busy(const struct flights *flights);
/* *@flights may be NULL, and must not be busy. */
void flights_free(struct flights **flights);

#endif
