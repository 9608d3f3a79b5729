/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_cache - stacks that were unwound before, found again by what their
 * frames depended on. See stack_cache.c for why that is right. One thread.
 */
#ifndef PERFREC_COLLECTOR_STACKS_STACK_CACHE_H
#define PERFREC_COLLECTOR_STACKS_STACK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/pool.h"
#include "collector/stacks/unwind.h"

struct budget;

struct stack_cache {
	struct pool nodes;
	uint64_t edition;
	uint64_t hits, misses;
};

/* @budget must outlive it. */
void stack_cache_init(struct stack_cache *cache, struct budget *budget);
void stack_cache_release(struct stack_cache *cache);

/* True: @stack has the number *@out, as stack_cache_add() was told in the same
 * @edition (unwind_edition()). */
bool stack_cache_find(struct stack_cache *cache, uint64_t edition,
		      const struct unwind_stack *stack, uint32_t *out);
/* @stack, which was not found and has just been unwound with @result, has
 * @number. */
void stack_cache_add(struct stack_cache *cache,
		     const struct unwind_stack *stack,
		     const struct unwind_result *result, uint32_t number);

#endif
