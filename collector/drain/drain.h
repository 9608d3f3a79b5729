/* SPDX-License-Identifier: Apache-2.0
 *
 * drain - the state that all threads of the collector share with the drain
 * workers (worker.h): the list of drained arenas, kicks that wake workers, and
 * the rounds of each worker through an arena.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_DRAIN_H
#define PERFREC_COLLECTOR_DRAIN_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/record/arena.h"

struct drain;

/*
 * Makes the drain for @workers drain workers, rounded down to a power of two:
 * slots and doorbells are divided evenly. workers_start() starts them. A worker
 * writes to @done_fd, an eventfd of the caller, after a pass that
 * drain_note_rounds() waits for. The caller ends *@out with drain_free().
 * Returns 0 or -ENOMEM.
 */
int drain_new(uint32_t workers, int done_fd, struct drain **out);
/* After all workers have ended. Accepts NULL. */
void drain_free(struct drain **drain);

/* Adds @arena to the list and takes a reference. Returns 0 or -ENOMEM. Any
 * thread. */
int drain_add(struct drain *drain, struct arena *arena);
/* Removes @arena from the list; workers return their references soon. Any
 * thread. */
void drain_remove(struct drain *drain, struct arena *arena);
/* Returns how long ago, in ns, the workers last looked at the slot of @arena
 * that waits longest. Any thread. */
uint64_t drain_lag_ns(const struct drain *drain, struct arena *arena);
/* Makes all workers look at all processes again. Any thread. */
void drain_kick(struct drain *drain);

/* Stores the number of rounds of each worker through @arena, and kicks all
 * workers. Any thread. */
void drain_note_rounds(struct drain *drain, struct arena *arena,
		       struct drain_rounds *out);
/* Returns true if the workers have read all records that were in rings of
 * @arena at drain_note_rounds(); otherwise kicks the workers. Other arenas do
 * not delay it. Any thread. */
bool drain_has_passed(struct drain *drain, struct arena *arena,
		      const struct drain_rounds *since);

/* A wait for several arenas at once. All zero: waits for none. */
struct drain_wait {
	struct drain_waited {
		struct arena *arena; /* a reference */
		struct drain_rounds since;
	} * item;
	uint32_t count, room;
};

/* Calls drain_note_rounds() for each arena of @list, linked by arena_next(),
 * whose recording @wanted(@context) accepts. Main thread. Returns 0 or -ENOMEM;
 * after -ENOMEM the wait covers fewer arenas. */
int drain_wait_begin(struct drain_wait *wait, struct drain *drain,
		     struct arena *list,
		     bool (*wanted)(const void *context,
				    const struct recording *recording),
		     const void *context);
/* Returns true if drain_has_passed() holds for all arenas. Main thread. */
bool drain_wait_is_over(struct drain_wait *wait, struct drain *drain);
void drain_wait_release(struct drain_wait *wait);

/* --- for the workers ----------------------------------------------------- */

/* All zero is an empty list. */
struct arena_list {
	struct arena **arena; /* a reference to each */
	uint32_t count, room;
};

void arena_list_release(struct arena_list *list);

/* Returns the number of workers: a power of two, at most DOORBELLS. */
uint32_t drain_workers(const struct drain *drain);
/* Adds a second worker for each index, for the arenas of nice programs. Before
 * any arena is added. */
void drain_set_nice_workers(struct drain *drain);
/* Returns the futex word of worker @index (@nice: of its nice worker). Each
 * kick changes it and wakes the worker. */
uint32_t *drain_kicks(struct drain *drain, uint32_t index, bool nice);
/* Updates *@list, the worker's copy of the list: the arenas of nice programs,
 * or all others. *@generation is the generation of the copy, 0 at first. By
 * worker @index (@nice: its nice worker). */
void drain_refresh(struct drain *drain, uint32_t index, bool nice,
		   struct arena_list *list, uint32_t *generation);
/* drain_close() asks all workers to end. */
void drain_close(struct drain *drain);
bool drain_is_closing(const struct drain *drain);

/*
 * Ends a round of worker @index through @arena that began at @begin. Returns
 * the earliest begin time among the last rounds of all workers: all earlier
 * records have been read.
 */
struct round_begin drain_end_round(struct drain *drain, struct arena *arena,
				   uint32_t index, struct round_begin begin);
/* Counts the round, after worker @index has consumed the events that
 * drain_end_round() permitted. */
void drain_count_round(struct arena *arena, uint32_t index);
/* Wakes the main thread if it waits for rounds; after drain_count_round(). */
void drain_tell_pass(struct drain *drain);

#endif
