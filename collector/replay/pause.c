/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/pause.h"

#include "shared/atomic.h"
#include "shared/compiler.h"

static void publish_change(struct pause_list *list)
{
	/* order: rel, PAUSE: the pause that has changed comes before it */
	atom_store_rel(&list->changes, list->changes + 1);
}

void pause_begin(struct pause_list *list, uint64_t ns)
{
	struct pause *pause = &list->at[list->changes / 2 % PAUSES_KEPT];

	if (list->changes & 1)
		return;
	/* relaxed: publish_change() publishes both */
	atom_store_rlx(&pause->from_ns, ns);
	atom_store_rlx(&pause->to_ns, UINT64_MAX);
	publish_change(list);
}

void pause_end(struct pause_list *list, uint64_t ns)
{
	struct pause *pause = &list->at[list->changes / 2 % PAUSES_KEPT];

	if (!(list->changes & 1))
		return;
	/* relaxed: publish_change() publishes it; an early reader sees it
	 * right */
	atom_store_rlx(&pause->to_ns, ns);
	publish_change(list);
}

uint32_t pause_changes(const struct pause_list *list)
{
	/* order: acq, PAUSE: the pauses it counts are whole */
	return atom_load_acq(&list->changes);
}

bool pause_at(const struct pause_list *list, uint64_t ns, uint64_t *from,
	      uint64_t *to)
{
	uint32_t begun = (pause_changes(list) + 1) / 2;

	*from = 0;
	*to = UINT64_MAX;
	/* From the newest to the oldest but one, because the oldest may be
	 * overwritten now. */
	for (uint32_t i = begun; i > 0 && begun - i < PAUSES_KEPT - 1; i--) {
		const struct pause *pause = &list->at[(i - 1) % PAUSES_KEPT];
		/* relaxed: pause_changes() orders both */
		uint64_t from_ns = atom_load_rlx(&pause->from_ns);
		uint64_t to_ns = atom_load_rlx(&pause->to_ns);

		if (ns >= to_ns) {
			*from = to_ns;
			return false;
		}
		if (ns >= from_ns) {
			*from = from_ns;
			*to = MIN(*to, to_ns);
			return true;
		}
		*to = from_ns;
	}
	return false;
}
