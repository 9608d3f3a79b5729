/* SPDX-License-Identifier: Apache-2.0
 *
 * flights - takes the snapshots of all recordings with --flight: waits until
 * the margin behind what triggered one has passed and the rings were read up to
 * there, and has it written. All calls are for the main thread.
 */
#ifndef PERFREC_COLLECTOR_SERVE_FLIGHTS_H
#define PERFREC_COLLECTOR_SERVE_FLIGHTS_H

#include <stdbool.h>

struct collector;
struct flights;

/* *@out is NULL if recordings have no --flight; the caller ends it by
 * flights_free(). 0 or -ENOMEM. */
int flights_new(struct collector *collector, struct flights **out);
/* Takes the next steps, which never wait. Every HEARTBEAT_NS or so. */
void flights_beat(struct flights *flights);
/* Whether a snapshot is under way. */
bool flights_are_busy(const struct flights *flights);
/* Frees *@flights, which may be NULL and are not busy. */
void flights_free(struct flights **flights);

#endif
