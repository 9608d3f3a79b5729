/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/budget.h"

#include "collector/base/clock.h"
#include "shared/atomic.h"

bool budget_take(struct budget *budget, uint64_t bytes)
{
	/* relaxed: a counter that guards no other memory */
	uint64_t before = atom_add_rlx(&budget->left, -bytes);
	bool fits = before >= bytes && before <= INT64_MAX;

	if (fits && (!budget->whole || budget_take(budget->whole, bytes)))
		return true;
	/* relaxed: as above */
	atom_add_rlx(&budget->left, bytes);
	if (!fits && !budget_full_ns(budget))
		/* relaxed: a figure for a person */
		atom_store_rlx(&budget->full_ns, clock_boottime_ns());
	return false;
}

void budget_give(struct budget *budget, uint64_t bytes)
{
	for (; budget; budget = budget->whole)
		/* relaxed: as in budget_take() */
		atom_add_rlx(&budget->left, bytes);
}

uint64_t budget_full_ns(const struct budget *budget)
{
	/* relaxed: a figure for a person */
	return atom_load_rlx(&budget->full_ns);
}
