/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/grow.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "collector/base/budget.h"
#include "shared/compiler.h"

#define BYTES_FIRST 64

int grow_slow(struct grow *grow, size_t wanted, struct budget *budget)
{
	size_t most = MIN(grow->most, PTRDIFF_MAX / grow->item_bytes);
	size_t room = grow->fits > most / 2 ? most : 2 * grow->fits, more;
	void *items;

	if (wanted > most)
		return -ENOMEM;
	room = MAX(room, BYTES_FIRST / grow->item_bytes);
	room = MIN(MAX(room, wanted), most);
	more = (room - grow->fits) * grow->item_bytes;
	if (budget && !budget_take(budget, more))
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
