/* SPDX-License-Identifier: Apache-2.0
 *
 * budget - a number of bytes that many structures share, so that a recorded
 * program cannot make the collector use all memory. A structure takes bytes
 * before it allocates them, and gives them back after it has freed them.
 *
 * A budget may be part of another one and then takes from both. So one kind of
 * structure cannot use up the bytes of the others.
 */
#ifndef PERFREC_COLLECTOR_BASE_BUDGET_H
#define PERFREC_COLLECTOR_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
	uint64_t left;
	uint64_t full_ns; /* BOOTTIME of the first refusal; 0: none */
	struct budget *whole; /* the larger budget, or NULL */
};

/* Takes @bytes from the budget and from all budgets that contain it. Returns
 * false and takes nothing if one of them has too few. Any thread. */
bool budget_take(struct budget *budget, uint64_t bytes);
void budget_give(struct budget *budget, uint64_t bytes);
uint64_t budget_full_ns(const struct budget *budget);

#endif
