/* SPDX-License-Identifier: Apache-2.0
 *
 * turns - shares room out among recordings, and in each among its groups, so
 * that no group can take all room. Under a lock of the caller's.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_TURNS_H
#define PERFREC_COLLECTOR_SAMPLES_TURNS_H

#include <stdbool.h>
#include <stddef.h>

struct turn {
	struct turn *next;
	void *group; /* the caller's */
	/* The share of its recording in this call; NULL: it is its own
	 * recording. Set by the caller, and outlives the turn. */
	size_t *taken;
	size_t own_taken;
	bool done; /* it has no more */
};

/* All zero at first. */
struct turns {
	struct turn *first; /* asked first */
};

void turns_add(struct turns *turns, struct turn *turn);
/* Also for a turn that was not added. */
void turns_remove(struct turns *turns, struct turn *turn);

/* Takes at most @room items of @group, and stores them behind the first @count.
 * Returns their number: fewer than @room if there are no more. */
typedef size_t (*turns_take_fn)(void *context, void *group, size_t count,
				size_t room);

/* Calls @take until @room is full or no group has more. @recordings: their
 * number, at least 1. The next call asks groups that got something after all
 * others. Returns the number of items. */
size_t turns_take(struct turns *turns, size_t recordings, size_t room,
		  turns_take_fn take, void *context);

#endif
