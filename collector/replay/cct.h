/* SPDX-License-Identifier: Apache-2.0
 *
 * cct - the calling-context tree of one stack of a thread. It has a node for
 * every distinct stack of functions, with the calls and the time of exactly
 * that stack. Everything that is summed up later (the summary, profiles) comes
 * from these trees.
 *
 * One thread at a time. Addresses come from the traced program and are only
 * compared. Many trees share one budget of memory. When it is used up, new
 * stacks are counted flat, below the node "overflow": the calls of each
 * function stay exact, but their place in the tree is lost.
 *
 * A function is an address for a stretch of time. When its module is unloaded
 * the function is retired; what is called at this address later is another
 * function.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_CCT_H
#define PERFREC_COLLECTOR_REPLAY_CCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/replay/kernel_counts.h"
#include "collector/replay/own_counts.h"
#include "collector/trace/encode.h"
#include "shared/compiler.h"

struct budget;
struct histogram;

/* A function, in all its stacks of one tree. */
struct cct_function {
	uint64_t address;
	uint32_t generation; /* of the load map when it was first called */
	bool excluded; /* by --filter or --exclude; replay's */
	bool shifted; /* its end has another stack pointer; replay's */
	/* What the function log says, once it was asked; replay's. */
	bool asked, connected, entry_build, off;
	struct encode_template begin; /* of its slices, with its name in the
				       * thread's sequence; replay's */
	uint64_t slow_ns; /* calls that take so long are told (replay_sink);
			   * replay's */
	struct histogram *histogram; /* of its calls (histograms.h); NULL: it
				      * has none; replay's */
	/* When it went off last, and when it was connected; 0: never;
	 * replay's. Equal: it went off to be connected. */
	uint64_t off_ns, connect_ns;
	uint32_t active; /* for cct_sum() */
	uint32_t index; /* for cct_flat_copy() */
	uint64_t calls, self_ns, total_ns, cpu_samples; /* by cct_sum() */
	uint64_t unrecorded; /* the same: calls that were only counted */
	/* The same: what perfrec did in self_ns, and in total_ns. */
	struct own_counts own_self, own_total;
	struct own_counts entered; /* for cct_sum() */
	struct cct_kernel_sums *kernel; /* by cct_kernel_sum() */
	uint64_t told_calls, told_ns; /* drain/thread_durations.c's */
	/* Replay's: calls that no thunk has counted, as they began by a hook
	 * before it was connected; and those that were withheld as it was off,
	 * though the hook had begun before. */
	uint64_t calls_before, late_calls;
	struct cct_function *next; /* all */
	struct cct_function *next_live; /* those that are not retired */
	struct cct_node *nodes; /* list; by of_function */
};

struct cct_node {
	uint64_t address; /* of the function; CCT_RETIRED when it is gone */
	/* Whether begins of it may be written as they are (CCT_PLAIN): its
	 * function is not new, excluded or off. And twice a number, which
	 * says in which chunk of the index a call of it ended last. */
	uint32_t stamp;
	uint32_t longest_ns; /* of its calls that ended in that chunk, up to
			      * UINT32_MAX */
	struct cct_function *function;
	struct cct_node *parent;
	struct cct_node *last; /* the child that was called last */
	struct cct_node *follow; /* the sibling called after this, last time */
	uint64_t calls; /* that were recorded */
	uint64_t total_ns;
	uint64_t unrecorded; /* besides: that were only counted */
	/* While it was the innermost: */
	uint64_t cpu_samples; /* that were taken */
	uint64_t blocks; /* records of allocations and frees */
	uint64_t heap_samples; /* stacks of allocations */
	uint64_t wait_ns; /* that the thread waited for room in its ring */

	uint64_t stray_ns; /* of callees that are not in this subtree */
	struct cct_node *child, *sibling;
	struct cct_node *of_function; /* the next one of the same function */
	uint32_t stack; /* its number in the process' stacks; 0: not asked */
	uint32_t heap_site; /* that of its blocks; 0: not asked */
	uint32_t index_number; /* in the index of the trace; 0: none yet */
	uint32_t touch; /* for index_build_touch() */
	uint32_t index; /* for cct_flat_copy() and exact_calls.c */
	uint64_t dropped; /* of its calls, those without an end; replay's */
	struct cct_kernel *kernel; /* what the kernel told of it; NULL:
				    * nothing */
};

#define CCT_PLAIN 1u

/* Wider than a payload: no record carries it. */
#define CCT_RETIRED UINT64_MAX
/* The same. No function: the parent of calls that were counted, but of which
 * none was recorded, so that nobody knows who called (exact_calls.h). */
#define CCT_UNKNOWN_CALLERS (UINT64_MAX - 1)

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
	/* cct_kernel.c's: */
	bool has_kernel; /* a node has a struct cct_kernel */
	struct cct_kernel no_node; /* of nodes for which there was no room */
	struct cct_kernel_sums *kernel_sums; /* of all functions */
};

/* Makes @cct an empty tree that pays with @budget, which must outlive it. 0 or
 * -ENOMEM; after 0 the caller ends it by cct_release(). */
int cct_init(struct cct *cct, struct budget *budget);
/* Frees all nodes and functions. @cct may be all zero. */
void cct_release(struct cct *cct);

/* Calls @enter for each node below @root, then for those below it, then @leave.
 */
typedef void cct_visit(struct cct_node *node, void *context);
void cct_walk(struct cct_node *root, cct_visit *enter, cct_visit *leave,
	      void *context);

/* Sums the nodes up by function: see struct cct_function. The totals of a
 * recursive function count its outermost calls only. Call it once, when all
 * calls have ended. */
void cct_sum(struct cct *cct);

/* @bytes that are freed with the tree; NULL: there is no room. For
 * cct_kernel.c.
 */
void *cct_memory(struct cct *cct, size_t bytes);

/* What perfrec did in the time of @node itself, without what its callees know:
 * see cct_own_in_caller(). */
static inline struct own_counts cct_own(const struct cct_node *node)
{
	return (struct own_counts){ .inner = node->calls,
				    .blocks = node->blocks,
				    .heap_samples = node->heap_samples,
				    .cpu_samples = node->cpu_samples,
				    .wait_ns = node->wait_ns };
}

/* What perfrec did for calls of @node in the time of its caller. */
static inline struct own_counts cct_own_in_caller(const struct cct_node *node)
{
	return (struct own_counts){ .outer = node->calls,
				    .counted = node->unrecorded };
}

/*
 * Retires the functions at @start to @end - 1. Their calls stay counted, and
 * calls that are open may go on. The next call at such an address is of a new
 * function, with cct->generation. Looks at live_count functions.
 */
void cct_retire(struct cct *cct, uint64_t start, uint64_t end);

/* The function at @address, or NULL: it was never called, or has retired. */
struct cct_function *cct_find_function(const struct cct *cct, uint64_t address);

/* What cct_child() does when its two guesses fail. */
struct cct_node *cct_child_slow(struct cct *cct, struct cct_node *parent,
				uint64_t address);

/*
 * The node of a call of @address from @parent. Never NULL. When memory is used
 * up it may be a child of overflow, or overflow itself. Two guesses come first:
 * the function that @parent called last is called again; or the function that
 * followed it the last time is called.
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

/* Counts a call of @node, which has ended and took @ns. @caller is the node
 * that was open around it: not @node's parent if memory was used up between. */
static inline void cct_count(struct cct_node *node, struct cct_node *caller,
			     uint64_t ns)
{
	node->calls++;
	if (unlikely(node->parent != caller))
		caller->stray_ns += ns;
	node->total_ns += ns;
}

#endif
