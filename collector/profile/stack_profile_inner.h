/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_profile_inner - what the two files of stack_profile share.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_STACK_PROFILE_INNER_H
#define PERFREC_COLLECTOR_PROFILE_STACK_PROFILE_INNER_H

#include <stdint.h>

#include "collector/profile/profile_tree.h"
#include "collector/profile/stack_profile.h"

struct stack_profile {
	const struct stack_profile_kind *kind;
	struct profile_tree tree;
	uint32_t other; /* location of what found no room, if it is kept */
};

#endif
