/* SPDX-License-Identifier: Apache-2.0
 *
 * turns - shares a room out among recordings, and in each among its groups, so
 * that none waits for ever as another one wants all. Under a lock of the
 * caller's.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_TURNS_H
#define PERFREC_COLLECTOR_SAMPLES_TURNS_H

#include <stdbool.h>
#include <stddef.h>

struct turn {
	struct turn *next;
	void *group; /* the caller's */
	/* What its recording has had in this round; NULL: it is one by
	 * itself. Set by the caller, and outlives the turn. */
	size_t *taken;
	size_t own_taken;
	bool done; /* it wants no more */
};

/* All zero at first. */
struct turns {
	struct turn *first; /* who is asked first */
};

void turns_add(struct turns *turns, struct turn *turn);
/* Also for one that was not added. */
void turns_remove(struct turns *turns, struct turn *turn);

/* Takes at most @room of @group, and puts it behind the first @count, which
 * are there already. Returns how many: fewer than @room means that there are
 * no more. */
typedef size_t (*turns_take_fn)(void *context, void *group, size_t count,
				size_t room);

/* Calls @take until @room is full or nobody has more. @recordings: how many
 * there are, at least 1. Whoever gets something is asked behind all who got
 * nothing the next time. Returns how many were taken. */
size_t turns_take(struct turns *turns, size_t recordings, size_t room,
		  turns_take_fn take, void *context);

#endif
