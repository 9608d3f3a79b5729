/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/grow.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "collector/base/budget.h"
#include "shared/compiler.h"

#define BYTES_FIRST 64

static size_t new_room(const struct grow *grow, size_t wanted)
{
	size_t most = MIN(grow->most, PTRDIFF_MAX / grow->item_bytes);
	size_t room = grow->fits > most / 2 ? most : 2 * grow->fits;

	if (wanted > most)
		return 0;
	room = MAX(room, BYTES_FIRST / grow->item_bytes);
	return MIN(MAX(room, wanted), most);
}

int grow_slow(struct grow *grow, size_t wanted, struct budget *budget)
{
	size_t room = new_room(grow, wanted);
	size_t more = (room - grow->fits) * grow->item_bytes;
	void *items;

	if (!room || (budget && !budget_take(budget, more)))
		return -ENOMEM;
	items = realloc(grow->items, room * grow->item_bytes);
	if (!items) {
		if (budget)
			budget_give(budget, more);
		return -ENOMEM;
	}
	grow->items = items;
	grow->fits = room;
	return 0;
}
