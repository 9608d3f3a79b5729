/* SPDX-License-Identifier: Apache-2.0
 *
 * budget - a number of bytes that many structures share, so that a program
 * under recording cannot make the collector use all memory. A structure takes
 * bytes from the budget before it allocates them, and gives them back when it
 * has freed them.
 *
 * A budget may be a part of another one: it takes from both. So a kind of
 * structure leaves the rest of the whole to others.
 */
#ifndef PERFREC_COLLECTOR_BASE_BUDGET_H
#define PERFREC_COLLECTOR_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
	uint64_t left; /* bytes that nobody has taken */
	uint64_t full_ns; /* when there were too few first, BOOTTIME; 0: never
			   */
	struct budget *whole; /* what it is a part of; NULL: nothing */
};

/* Takes @bytes from the budget, and from the whole that it is a part of.
 * Returns false, and takes nothing, if fewer are left in one of them. Any
 * thread. */
bool budget_take(struct budget *budget, uint64_t bytes);
/* Gives back @bytes that budget_take() took. Any thread. */
void budget_give(struct budget *budget, uint64_t bytes);
/* When budget_take() was refused first, BOOTTIME; 0: never. Any thread. */
uint64_t budget_full_ns(const struct budget *budget);

#endif
