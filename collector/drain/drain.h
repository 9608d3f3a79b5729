/* SPDX-License-Identifier: Apache-2.0
 *
 * drain - what all threads of the collector share with the drain workers
 * (worker.h): the list of arenas that are drained, kicks that wake workers, and
 * how many rounds each of them has made through an arena.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_DRAIN_H
#define PERFREC_COLLECTOR_DRAIN_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/record/arena.h"

struct drain;

/*
 * For @workers drain workers (rounded down to a power of two, as slots and
 * doorbells are shared out evenly), which are started by workers_start().
 * @done_fd, an eventfd that stays the caller's, is written to after a pass that
 * somebody waits for: drain_note_rounds(). The caller ends *@out with
 * drain_free(). 0 or -ENOMEM.
 */
int drain_new(uint32_t workers, int done_fd, struct drain **out);
/* All workers must have ended. Also for NULL. */
void drain_free(struct drain **drain);

/* Drain @arena from now on; takes a reference. 0 or -ENOMEM. Any thread. */
int drain_add(struct drain *drain, struct arena *arena);
/* Drain it no more; workers give their references back soon. Any thread. */
void drain_remove(struct drain *drain, struct arena *arena);
/* For how long some slot of @arena, which is drained, has not been looked at at
 * most; ns. Any thread. */
uint64_t drain_lag_ns(const struct drain *drain, struct arena *arena);
/* Make all workers look at all processes again. Any thread. */
void drain_kick(struct drain *drain);

/* Fill in how many rounds each worker has made through @arena up to now, and
 * kick all of them. Any thread. */
void drain_note_rounds(struct drain *drain, struct arena *arena,
		       struct drain_rounds *out);
/* Whether all that was in a ring of @arena at drain_note_rounds() has been
 * taken in; kicks the workers if not. Other arenas do not matter, however far
 * workers are behind with them. Any thread. */
bool drain_has_passed(struct drain *drain, struct arena *arena,
		      const struct drain_rounds *since);

/* Waits for several arenas at a time. All zero is one for none. */
struct drain_wait {
	struct drain_waited {
		struct arena *arena; /* a reference */
		struct drain_rounds since;
	} * item;
	uint32_t count, room;
};

/* drain_note_rounds() for each arena of @list, which is linked by arena_next(),
 * if @wanted(@context) says so for its recording. Main thread. 0 or -ENOMEM:
 * then it is for fewer arenas. */
int drain_wait_begin(struct drain_wait *wait, struct drain *drain,
		     struct arena *list,
		     bool (*wanted)(const void *context,
				    const struct recording *recording),
		     const void *context);
/* drain_has_passed() for all of them. Main thread. */
bool drain_wait_is_over(struct drain_wait *wait, struct drain *drain);
/* Gives all back. */
void drain_wait_release(struct drain_wait *wait);

/* --- for the workers -------------------------------------------------------
 */

/* All zero is an empty one. */
struct arena_list {
	struct arena **arena; /* a reference to each */
	uint32_t count, room;
};

/* Gives all references back. */
void arena_list_release(struct arena_list *list);

/* How many there are: a power of two, at most DOORBELLS. */
uint32_t drain_workers(const struct drain *drain);
/* There is a second worker of each index, for the arenas of nice programs.
 * Before any arena is added. */
void drain_set_nice_workers(struct drain *drain);
/* The futex word of worker @index, or of the @nice one, which each kick changes
 * and wakes. */
uint32_t *drain_kicks(struct drain *drain, uint32_t index, bool nice);
/* Makes *@list, the copy of worker @index, or of the @nice one, up to date: the
 * arenas of nice programs, or of all others. *@generation is that of the copy,
 * 0 at first. By that worker. */
void drain_refresh(struct drain *drain, uint32_t index, bool nice,
		   struct arena_list *list, uint32_t *generation);
/* Ask all workers to end, and whether they are to. */
void drain_close(struct drain *drain);
bool drain_is_closing(const struct drain *drain);

/*
 * A round of worker @index through @arena, which began at @begin, has ended.
 * Returns the earliest begin of the last rounds of all workers through it: all
 * that was recorded before that has been taken in.
 */
struct round_begin drain_end_round(struct drain *drain, struct arena *arena,
				   uint32_t index, struct round_begin begin);
/* Worker @index has consumed what drain_end_round() allowed: the round
 * counts. */
void drain_count_round(struct arena *arena, uint32_t index);
/* Wake whoever waits for rounds: after drain_count_round(). */
void drain_tell_pass(struct drain *drain);

#endif
