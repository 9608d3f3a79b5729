/* SPDX-License-Identifier: Apache-2.0
 *
 * vector - how the registers are saved that C may change and that a function of
 * an entry build may have arguments or results in: hook_x86_64.S saves them
 * before it calls C.
 */
#ifndef PERFREC_PRELOAD_RING_VECTOR_H
#define PERFREC_PRELOAD_RING_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "preload/core/thread_asm.h"

struct vector_state {
	uint32_t mask; /* of xsave; 0: there is only fxsave */
	uint32_t tells; /* 1: xgetbv tells what of it is in use */
};

_Static_assert(offsetof(struct vector_state, mask) == VECTOR_MASK, "asm");
_Static_assert(offsetof(struct vector_state, tells) == VECTOR_TELLS, "asm");

#pragma GCC visibility push(hidden)
extern struct vector_state g_vector_state;
#pragma GCC visibility pop

/* Find out what this CPU has. Once, before anything is connected. */
void vector_find(void);

#endif
