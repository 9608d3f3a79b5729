/* SPDX-License-Identifier: Apache-2.0
 *
 * turns - in the first round each recording may have an equal part of the room;
 * the limit doubles in each further round, because some take less. A round asks
 * the groups that have waited longest first.
 */
#include "collector/samples/turns.h"

#include "shared/compiler.h"

void turns_add(struct turns *turns, struct turn *turn)
{
	turn->next = turns->first;
	turns->first = turn;
}

void turns_remove(struct turns *turns, struct turn *turn)
{
	struct turn **link = &turns->first;

	while (*link && *link != turn)
		link = &(*link)->next;
	if (*link)
		*link = turn->next;
}

static size_t *taken_of(struct turn *turn)
{
	return turn->taken ? turn->taken : &turn->own_taken;
}

struct taker {
	turns_take_fn take;
	void *context;
	size_t count, room;
};

/* Asks all groups until the room is full. Returns true if a group may have
 * more. */
static bool run_round(struct turns *turns, struct taker *taker, size_t limit)
{
	struct turn **link = &turns->first, *served = NULL;
	struct turn **served_end = &served, *turn;
	bool more = false;

	while ((turn = *link)) {
		size_t *taken = taken_of(turn), got = 0, want;

		if (!turn->done) {
			want = MIN(limit - MIN(*taken, limit),
				   taker->room - taker->count);
			if (want)
				got = taker->take(taker->context, turn->group,
						  taker->count, want);
			turn->done = got < want;
			*taken += got;
			taker->count += got;
		}
		more |= !turn->done;
		if (got) {
			*link = turn->next;
			*served_end = turn;
			served_end = &turn->next;
		} else {
			link = &turn->next;
		}
	}
	*served_end = NULL;
	*link = served;
	return more;
}

size_t turns_take(struct turns *turns, size_t recordings, size_t room,
		  turns_take_fn take, void *context)
{
	struct taker taker = { .take = take, .context = context, .room = room };
	size_t limit = MAX(room / recordings, (size_t)1);

	for (struct turn *turn = turns->first; turn; turn = turn->next) {
		*taken_of(turn) = 0;
		turn->done = false;
	}
	while (run_round(turns, &taker, limit) && taker.count < room)
		limit *= 2;
	return taker.count;
}
