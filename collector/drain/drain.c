/* SPDX-License-Identifier: Apache-2.0
 *
 * drain - all threads share the list of arenas, under a lock. A worker copies
 * it, with references, when the generation of the list changes. A copy needs no
 * allocation: drain_add() first allocates room for each worker, or refuses the
 * arena. All other shared state is single words (rows KICK and PASS in
 * docs/RING.md).
 */
#include "collector/drain/drain.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/record/recording.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/futex.h"

#define CACHE_LINE_BYTES 64

struct worker_words {
	uint32_t kicks; /* futex: counts kicks */
	/* Each worker sleeps on a cache line of its own. */
	char pad[CACHE_LINE_BYTES - 4];
};

struct worker_room {
	struct arena **arena; /* NULL: the worker has taken it */
	uint32_t room; /* in entries, also after the worker took it */
};

struct drain {
	uint32_t workers;
	bool nice_workers; /* worker[1] is used as well */
	int done_fd;
	bool closing; /* relaxed; kicks order it */
	uint32_t awaited; /* the main thread waits for rounds */
	struct lock lock;
	struct arena_list arenas;
	uint32_t nice_arenas; /* of arenas; changes under lock */
	uint32_t generation; /* changes with arenas */
	struct worker_words worker[2][DOORBELLS]; /* [1]: nice workers */
	struct worker_room room[2][DOORBELLS];
};

/* --- the list of arenas -------------------------------------------------- */

static void arena_list_clear(struct arena_list *list)
{
	while (list->count)
		arena_put(&list->arena[--list->count]);
}

void arena_list_release(struct arena_list *list)
{
	arena_list_clear(list);
	free(list->arena);
	*list = (struct arena_list){ 0 };
}

/* Makes room for @count arenas in the list and in each worker's copy. Under the
 * lock. Returns 0 or -ENOMEM. */
static int make_worker_room(struct drain *drain, uint32_t count)
{
	if (grow_array(drain->arenas.arena, drain->arenas.room, count))
		return -ENOMEM;
	for (uint32_t i = 0; i < 2 * (uint32_t)DOORBELLS; i++) {
		struct worker_room *room =
			&drain->room[i / DOORBELLS][i % DOORBELLS];
		struct arena **arena;

		if (i % DOORBELLS >= drain->workers || room->room >= count)
			continue;
		arena = calloc(2 * (size_t)count, sizeof(struct arena *));
		if (!arena)
			return -ENOMEM;
		free(room->arena);
		*room = (struct worker_room){ arena, 2 * count };
	}
	return 0;
}

void drain_refresh(struct drain *drain, uint32_t index, bool nice,
		   struct arena_list *list, uint32_t *generation)
{
	struct worker_room *room = &drain->room[nice][index];

	/* relaxed: a kick follows every change and orders it */
	if (atom_load_rlx(&drain->generation) == *generation)
		return;
	arena_list_clear(list);
	lock_acquire(&drain->lock);
	if (room->arena) {
		free(list->arena);
		list->arena = room->arena;
		room->arena = NULL;
	}
	for (uint32_t i = 0; i < drain->arenas.count; i++)
		if (arena_drain(drain->arenas.arena[i])->nice == nice)
			list->arena[list->count++] =
				arena_get(drain->arenas.arena[i]);
	*generation = drain->generation;
	lock_release(&drain->lock);
}

static void kick_workers(struct drain *drain, bool nice)
{
	for (uint32_t i = 0; i < drain->workers; i++) {
		struct worker_words *worker = &drain->worker[nice][i];

		/* order: sc, KICK: the change comes before it */
		atom_add_sc(&worker->kicks, 1);
		syscall(SYS_futex, &worker->kicks, FUTEX_OP_WAKE, 1, NULL, NULL,
			0);
	}
}

static void kick_all(struct drain *drain)
{
	drain_kick(drain);
	if (drain->nice_workers)
		kick_workers(drain, true);
}

int drain_add(struct drain *drain, struct arena *arena)
{
	uint64_t now = clock_boottime_ns();
	int err;
	const struct recording *recording;

	for (uint32_t i = 0; i < drain->workers; i++)
		/* relaxed: a figure for display */
		atom_store_rlx(&arena_drain(arena)->looked_ns[i], now);
	recording = arena_setup(arena)->recording;
	arena_drain(arena)->nice =
		drain->nice_workers && recording &&
		recording_setup(recording)->nice >= NICE_MOST;
	lock_acquire(&drain->lock);
	err = make_worker_room(drain, drain->arenas.count + 1);
	if (!err) {
		drain->arenas.arena[drain->arenas.count++] = arena_get(arena);
		/* relaxed: a hint for drain_kick() */
		atom_add_rlx(&drain->nice_arenas, arena_drain(arena)->nice);
	}
	/* relaxed: as in drain_refresh() */
	atom_add_rlx(&drain->generation, 1);
	lock_release(&drain->lock);
	kick_all(drain);
	return err;
}

void drain_remove(struct drain *drain, struct arena *arena)
{
	struct arena_list *list = &drain->arenas;

	lock_acquire(&drain->lock);
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->arena[i] != arena)
			continue;
		/* relaxed: nothing can be missed any more */
		atom_store_rlx(&arena_drain(arena)->removed, true);
		/* relaxed: as in drain_add() */
		atom_add_rlx(&drain->nice_arenas,
			     -(uint32_t)arena_drain(arena)->nice);
		arena_put(&list->arena[i]);
		list->arena[i] = list->arena[--list->count];
		break;
	}
	/* relaxed: as in drain_refresh() */
	atom_add_rlx(&drain->generation, 1);
	lock_release(&drain->lock);
	kick_all(drain);
}

uint64_t drain_lag_ns(const struct drain *drain, struct arena *arena)
{
	uint64_t now = clock_boottime_ns(), oldest = now;

	for (uint32_t i = 0; i < drain->workers; i++) {
		/* relaxed: a figure for display */
		uint64_t looked =
			atom_load_rlx(&arena_drain(arena)->looked_ns[i]);

		oldest = MIN(oldest, looked);
	}
	return now - oldest;
}

/* --- kicks and passes ---------------------------------------------------- */

uint32_t drain_workers(const struct drain *drain)
{
	return drain->workers;
}

void drain_set_nice_workers(struct drain *drain)
{
	drain->nice_workers = true;
}

uint32_t *drain_kicks(struct drain *drain, uint32_t index, bool nice)
{
	return &drain->worker[nice][index].kicks;
}

void drain_kick(struct drain *drain)
{
	kick_workers(drain, false);
	/* relaxed: drain_add() kicks after the change */
	if (atom_load_rlx(&drain->nice_arenas))
		kick_workers(drain, true);
}

void drain_note_rounds(struct drain *drain, struct arena *arena,
		       struct drain_rounds *out)
{
	const struct arena_round *round = arena_drain(arena)->round;

	/* order: sc, PASS: before the kick */
	atom_store_sc(&drain->awaited, 1);
	for (uint32_t i = 0; i < drain->workers; i++)
		/* relaxed: the kick orders it */
		out->ended[i] = atom_load_rlx(&round[i].rounds);
	drain_kick(drain);
}

bool drain_has_passed(struct drain *drain, struct arena *arena,
		      const struct drain_rounds *since)
{
	const struct arena_round *round = arena_drain(arena)->round;

	/* relaxed: set once, after everything was read */
	if (atom_load_rlx(&arena_drain(arena)->removed))
		return true;
	for (uint32_t i = 0; i < drain->workers; i++) {
		/* order: acq, PASS: the results of the rounds */
		uint32_t ended = atom_load_acq(&round[i].rounds);

		/* The first of two rounds may have begun before @since. */
		if (ended - since->ended[i] < 2) {
			/* order: sc, PASS: before the kick */
			atom_store_sc(&drain->awaited, 1);
			drain_kick(drain);
			return false;
		}
	}
	return true;
}

int drain_wait_begin(struct drain_wait *wait, struct drain *drain,
		     struct arena *list,
		     bool (*wanted)(const void *context,
				    const struct recording *recording),
		     const void *context)
{
	for (; list; list = arena_next(list)) {
		struct drain_waited *item;

		if (!wanted(context, arena_setup(list)->recording))
			continue;
		if (grow_array(wait->item, wait->room, wait->count + 1))
			return -ENOMEM;
		item = &wait->item[wait->count++];
		item->arena = arena_get(list);
		drain_note_rounds(drain, list, &item->since);
	}
	return 0;
}

bool drain_wait_is_over(struct drain_wait *wait, struct drain *drain)
{
	for (; wait->count; arena_put(&wait->item[--wait->count].arena)) {
		struct drain_waited *item = &wait->item[wait->count - 1];

		if (!drain_has_passed(drain, item->arena, &item->since))
			return false;
	}
	return true;
}

void drain_wait_release(struct drain_wait *wait)
{
	while (wait->count)
		arena_put(&wait->item[--wait->count].arena);
	free(wait->item);
	*wait = (struct drain_wait){ 0 };
}

struct round_begin drain_end_round(struct drain *drain, struct arena *arena,
				   uint32_t index, struct round_begin begin)
{
	struct arena_round *round = arena_drain(arena)->round;
	struct round_begin *ended = &round[index].ended;

	/* order: rel, PASS: the events of the round come before it */
	atom_store_rel(&ended->ns, begin.ns);
	/* order: rel, PASS: the same */
	atom_store_rel(&ended->ticks, begin.ticks);
	for (uint32_t i = 0; i < drain->workers; i++) {
		ended = &round[i].ended;
		/* order: acq, PASS: the events of that round are visible */
		begin.ns = MIN(begin.ns, atom_load_acq(&ended->ns));
		/* order: acq, PASS: the same */
		begin.ticks = MIN(begin.ticks, atom_load_acq(&ended->ticks));
	}
	return begin;
}

void drain_count_round(struct arena *arena, uint32_t index)
{
	struct arena_round *round = &arena_drain(arena)->round[index];

	/* order: rel, PASS: the results of the round come before it */
	atom_store_rel(&round->rounds, round->rounds + 1);
}

void drain_tell_pass(struct drain *drain)
{
	uint64_t one = 1;

	/* order: sc, PASS: the rounds first */
	if (atom_xchg_sc(&drain->awaited, 0) &&
	    write(drain->done_fd, &one, sizeof(one)) < 0)
		log_err("cannot wake the main thread: %m");
}

/* --- start and end ------------------------------------------------------- */

int drain_new(uint32_t workers, int done_fd, struct drain **out)
{
	struct drain *drain = calloc(1, sizeof(*drain));
	uint32_t power = 1;

	if (!drain)
		return -ENOMEM;
	while (2 * power <= MIN(workers, (uint32_t)DOORBELLS))
		power *= 2;
	drain->workers = power;
	drain->done_fd = done_fd;
	lock_init(&drain->lock, LOCK_DRAIN);
	*out = drain;
	return 0;
}

void drain_close(struct drain *drain)
{
	/* relaxed: the kick orders it */
	atom_store_rlx(&drain->closing, true);
	kick_all(drain);
}

bool drain_is_closing(const struct drain *drain)
{
	/* relaxed: a kick follows and orders it */
	return atom_load_rlx(&drain->closing);
}

void drain_free(struct drain **drain)
{
	struct drain *old = *drain;

	*drain = NULL;
	if (!old)
		return;
	arena_list_release(&old->arenas);
	for (uint32_t i = 0; i < DOORBELLS; i++) {
		free(old->room[false][i].arena);
		free(old->room[true][i].arena);
	}
	lock_destroy(&old->lock);
	free(old);
}
