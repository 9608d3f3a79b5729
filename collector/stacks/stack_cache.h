/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_cache - finds stacks again that were unwound before, without unwinding:
 * by the registers and words that their frames depended on. stack_cache.c says
 * why that is right. One thread: the sampler.
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

/* Makes @cache empty. It pays with @budget, which must outlive it. */
void stack_cache_init(struct stack_cache *cache, struct budget *budget);
/* Frees what @cache has. */
void stack_cache_release(struct stack_cache *cache);

/* Whether @stack is known: *@out is then the number that stack_cache_add() was
 * given for an equal stack. @edition is what unwind_edition() says now; when it
 * has changed, all stacks are forgotten. */
bool stack_cache_find(struct stack_cache *cache, uint64_t edition,
		      const struct unwind_stack *stack, uint32_t *out);
/* Remembers that @stack has @number. @stack was not found a moment ago and has
 * just been unwound, with @result. Does nothing if @result is not repeatable.
 * If there is no room, all stacks are forgotten: those that are asked for often
 * come back at once. */
void stack_cache_add(struct stack_cache *cache,
		     const struct unwind_stack *stack,
		     const struct unwind_result *result, uint32_t number);

#endif
