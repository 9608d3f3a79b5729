/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_cache - recognizes stacks that were unwound before by the registers and
 * words that unwinding reads. stack_cache.c explains why that is exact. Only
 * for the sampler's thread.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_STACK_CACHE_H
#define PERFREC_COLLECTOR_PROFILE_STACK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/pool.h"
#include "collector/profile/unwind.h"

struct budget;

struct stack_cache {
	struct pool nodes;
	uint64_t edition;
	uint64_t hits;
};

/* Initializes an empty @cache. Its memory counts in @budget, which must outlive
 * the cache. */
void stack_cache_init(struct stack_cache *cache, struct budget *budget);
/* Frees the content of @cache. */
void stack_cache_release(struct stack_cache *cache);

/* Returns true if an equal stack was added, and sets *@out to its number.
 * @edition is the current unwind_edition(); a new edition empties the cache. */
bool stack_cache_find(struct stack_cache *cache, uint64_t edition,
		      const struct unwind_stack *stack, uint32_t *out);
/* Adds @stack with @number. The caller has just unwound @stack to @result after
 * stack_cache_find() failed. Does nothing if @result is not repeatable. If
 * memory is short, empties the cache; frequent stacks return quickly. */
void stack_cache_add(struct stack_cache *cache,
		     const struct unwind_stack *stack,
		     const struct unwind_result *result, uint32_t number);

#endif
