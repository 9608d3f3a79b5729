/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_profile_inner - shared by the files of stack_profile.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_STACK_PROFILE_INNER_H
#define PERFREC_COLLECTOR_PROFILE_STACK_PROFILE_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/profile/profile_tree.h"
#include "collector/profile/stack_profile.h"

/* The values of a node of stack_profile_wall. */
enum wall_value {
	WALL_CALLS,
	WALL_NS,
	WALL_OWN, /* first of struct own_counts */
	WALL_VALUES = WALL_OWN + OWN_COUNTS,
};

_Static_assert(SPAN_OWN + OWN_COUNTS <= OUT_VALUES_MAX, "there is room");

struct stack_profile {
	const struct stack_profile_kind *kind;
	struct profile_tree tree;
	struct own_costs costs;
	uint64_t counted; /* unrecorded calls */
	bool timed; /* times are not from calls (time_profile.h) */
	bool windowed; /* values are those of window_profile.c */
	uint32_t other; /* location of stacks without memory, if kept */
};

#endif
