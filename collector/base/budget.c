/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/budget.h"

#include "shared/atomic.h"

bool budget_take(struct budget *budget, uint64_t bytes)
{
	/* relaxed: a counter that guards no other memory */
	uint64_t before = atom_add_rlx(&budget->left, -bytes);

	if (before >= bytes && before <= INT64_MAX)
		return true;
	budget_give(budget, bytes);
	return false;
}

void budget_give(struct budget *budget, uint64_t bytes)
{
	/* relaxed: as in budget_take() */
	atom_add_rlx(&budget->left, bytes);
}
