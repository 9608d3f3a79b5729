/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_profile_inner - what the two files of stack_profile share.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_STACK_PROFILE_INNER_H
#define PERFREC_COLLECTOR_PROFILE_STACK_PROFILE_INNER_H

#include <stdint.h>

#include "collector/profile/profile_tree.h"
#include "collector/profile/stack_profile.h"

/* The values of a node of stack_profile_wall. */
enum wall_value {
	WALL_CALLS,
	WALL_NS,
	WALL_OWN, /* and what follows: struct own_counts */
	WALL_VALUES = WALL_OWN + OWN_COUNTS,
};

_Static_assert(SPAN_OWN + OWN_COUNTS <= OUT_VALUES_MAX, "there is room");

struct stack_profile {
	const struct stack_profile_kind *kind;
	struct profile_tree tree;
	struct own_costs costs; /* that are subtracted when it is written */
	uint64_t counted; /* calls that were not recorded */
	bool timed; /* its times are not those of the calls (time_profile.h) */
	uint32_t other; /* location of what found no room, if it is kept */
};

#endif
