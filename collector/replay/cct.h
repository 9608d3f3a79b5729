/* SPDX-License-Identifier: Apache-2.0
 *
 * cct - the calling-context tree of one thread: a node for every distinct
 * stack of functions, with the calls and the time of exactly that stack.
 * Everything that is summed up later (the summary, profiles) comes from it.
 *
 * One thread at a time. Addresses come from the traced program and are only
 * compared; memory is bounded by a budget that many trees share. When that is
 * used up, new stacks are counted flat under the node "overflow": calls by
 * function stay exact, their place in the tree is lost.
 *
 * A function is an address in a stretch of time: when its module is unloaded
 * it is retired, and what is called at that address from then on is another.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_CCT_H
#define PERFREC_COLLECTOR_REPLAY_CCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/trace/encode.h"
#include "shared/compiler.h"

struct budget;

/* A function, in all its stacks of one tree. */
struct cct_function {
	uint64_t address;
	uint32_t generation; /* of the load map when it was first called */
	bool excluded; /* by --filter or --exclude; replay's */
	bool shifted; /* its end has another stack pointer; replay's */
	struct encode_template begin; /* of its slices, with its name in the
				       * thread's sequence; replay's */
	uint32_t active; /* for cct_sum() */
	uint32_t index; /* for cct_flat_copy() */
	uint64_t calls, self_ns, total_ns, cpu_samples; /* by cct_sum() */
	struct cct_function *next; /* all */
	struct cct_function *next_live; /* those that are not retired */
	struct cct_node *nodes; /* list; by of_function */
};

struct cct_node {
	uint64_t address; /* of the function; CCT_RETIRED when it is gone */
	uint32_t iid; /* its function's; 0: not to be written as it is */
	uint32_t index; /* for cct_flat_copy() */
	struct cct_function *function;
	struct cct_node *parent;
	struct cct_node *last; /* the child that was called last */
	struct cct_node *follow; /* the sibling called after this, last time */
	uint64_t calls;
	uint64_t total_ns;
	uint64_t cpu_samples; /* taken while it was the innermost */

	uint64_t stray_ns; /* of callees that are not in this subtree */
	struct cct_node *child, *sibling;
	struct cct_node *of_function; /* the next one of the same function */
	uint32_t stack; /* its number in the process' stacks; 0: not asked */
	uint32_t heap_site; /* that of its blocks; 0: not asked */
};

/* Wider than a payload: no record carries it. */
#define CCT_RETIRED UINT64_MAX

struct cct {
	struct cct_node *root;
	struct cct_node *overflow; /* parent of what found no room */
	struct cct_function *functions; /* list; the latest first */
	struct cct_function *live; /* list of those not retired */
	uint32_t live_count;
	uint32_t generation; /* of the load map, for new functions */
	struct budget *budget;
	struct cct_chunk *chunks;
	size_t chunk_left;
	struct cct_table {
		void **entry;
		uint32_t count, mask;
	} node_table, function_table;
	uint64_t overflowed; /* nodes that found no room */
};

/* 0 or -ENOMEM. @budget must outlive the tree. */
int cct_init(struct cct *cct, struct budget *budget);
void cct_release(struct cct *cct);

/* Sums the nodes up by function; a recursive function's total counts its
 * outermost calls only. Once, when all calls have ended. */
void cct_sum(struct cct *cct);

/*
 * Retire the functions at @start to @end - 1: their calls stay counted, open
 * ones may go on, and the next call of such an address is of a new function
 * with cct->generation. Looks at live_count functions.
 */
void cct_retire(struct cct *cct, uint64_t start, uint64_t end);

struct cct_node *cct_child_slow(struct cct *cct, struct cct_node *parent,
				uint64_t address);

/*
 * The node of a call of @address from @parent. Never NULL; when memory is
 * used up it may be a child of overflow, or overflow itself. What was called
 * last is mostly called again, or else what followed it the last time.
 */
static inline struct cct_node *cct_child(struct cct *cct,
					 struct cct_node *parent,
					 uint64_t address)
{
	struct cct_node *last = parent->last, *follow;

	if (likely(last->address == address))
		return last;
	follow = last->follow;
	if (likely(follow->address == address)) {
		parent->last = follow;
		return follow;
	}
	return cct_child_slow(cct, parent, address);
}

/* A call of @node that took @ns has ended; @caller is the node that was open
 * around it. */
static inline void cct_count(struct cct_node *node, struct cct_node *caller,
			     uint64_t ns)
{
	node->calls++;
	node->total_ns += ns;
	if (unlikely(node->parent != caller))
		caller->stray_ns += ns;
}

#endif
