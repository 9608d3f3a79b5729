/* SPDX-License-Identifier: Apache-2.0
 *
 * vector - the vector registers to save. hook_x86_64.S saves them before it
 * calls C, because a function of an entry build may have arguments or results
 * there.
 */
#ifndef PERFREC_PRELOAD_RING_VECTOR_H
#define PERFREC_PRELOAD_RING_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "preload/core/thread_asm.h"

struct vector_state {
	uint32_t mask; /* for xsave; 0: the CPU only has fxsave */
	uint32_t tells; /* 1: xgetbv reports the components in use */
};

_Static_assert(offsetof(struct vector_state, mask) == VECTOR_MASK, "asm");
_Static_assert(offsetof(struct vector_state, tells) == VECTOR_TELLS, "asm");

#pragma GCC visibility push(hidden)
extern struct vector_state g_vector_state;
#pragma GCC visibility pop

/* Sets g_vector_state for this CPU. Called once, before recording starts. */
void vector_find(void);

#endif
