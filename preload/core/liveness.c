/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/core/liveness.h"

#include "preload/core/gate.h"

bool liveness_owner_died(uint32_t owner)
{
	return owner & LIVENESS_OWNER_DIED;
}

bool collector_left(void)
{
	const struct liveness_shm *liveness = g_shim.liveness;

	/* order: acq, CONTROL: OFF needs nothing else of the page */
	if (atom_load_acq(&g_shim.page->control) == CONTROL_OFF)
		return true;
	/* relaxed: one word each, and nothing is read through them */
	return atom_load_rlx(&liveness->closed) ||
	       liveness_owner_died(atom_load_rlx(&liveness->owner));
}
