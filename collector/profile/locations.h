/* SPDX-License-Identifier: Apache-2.0
 *
 * locations - the places in programs that a profile's stacks are made of:
 * modules, and addresses in them, each once, and what they are called. Equal
 * ones of several processes are one. See profile_tree.h, whose part it is.
 * They read files: the jobs thread, one call at a time.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_LOCATIONS_H
#define PERFREC_COLLECTOR_PROFILE_LOCATIONS_H

#include <stdint.h>

#include "collector/base/pool.h"

struct budget;
struct modules;
struct out_pprof;
struct stack_frame;
struct symbol_cache;

struct locations {
	struct symbol_cache *cache;
	struct pool places; /* modules */
	struct pool items; /* locations, by number */
};

/* @cache and @budget must outlive it. */
void locations_init(struct locations *locations, struct symbol_cache *cache,
		    struct budget *budget);
void locations_release(struct locations *locations);

/* The number of the location of @frame, as @modules has it. 0 or -ENOMEM. */
int locations_find(struct locations *locations, struct modules *modules,
		   const struct stack_frame *frame, uint32_t *out);
/* Of what is no place in a program, and is called @name. 0 or -ENOMEM. */
int locations_mark(struct locations *locations, const char *name,
		   uint32_t *out);
/* Add all of @from, of the same cache: out[i] is what its location i is
 * called here. 0 or -ENOMEM. */
int locations_merge(struct locations *locations, const struct locations *from,
		    uint32_t *out);
/*
 * Write the mappings, functions and locations. Location i gets the id i + 1.
 * The first mapping is that of the program whose main thread is called
 * @program, if there is one.
 * An entry of a function has one line, that of the function itself: what is
 * inlined there and instrumented has calls of its own. Others have a line for
 * each function that is inlined there. 0 or -ENOMEM.
 */
int locations_write(const struct locations *locations, const char *program,
		    struct out_pprof *out);

#endif
