/* SPDX-License-Identifier: Apache-2.0
 *
 * drain - the workers that empty the rings of all programs. See drain.c.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_DRAIN_H
#define PERFREC_COLLECTOR_DRAIN_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/ring_shm.h"

struct arena;
struct collector;
struct drain;

/* Workers for this machine: one for two CPUs, a power of two. */
uint32_t drain_default_workers(void);

/*
 * Start @workers threads (rounded down to a power of two, as slots and
 * doorbells are shared out evenly). @collector must outlive them. 0 or
 * -errno.
 */
int drain_new(struct collector *collector, uint32_t workers,
	      struct drain **out);
/* Ends the threads. All arenas must have been removed. */
void drain_free(struct drain **drain);

/* Drain @arena from now on; takes a reference. 0 or -ENOMEM. Any thread. */
int drain_add(struct drain *drain, struct arena *arena);
/* Drain it no more; workers give their references back soon. Any thread. */
void drain_remove(struct drain *drain, struct arena *arena);
/* Make all workers look at all processes again. Any thread. */
void drain_kick(struct drain *drain);

/* How often each worker has looked at everything. */
struct drain_passes {
	uint32_t ended[DOORBELLS]; /* as many workers at most */
};
/* As of now, and kicks them. Any thread. */
void drain_note_passes(struct drain *drain, struct drain_passes *out);
/* Whether all that was in a ring at drain_note_passes() has been taken in;
 * kicks if not. Any thread. */
bool drain_has_passed(struct drain *drain, const struct drain_passes *since);

#endif
