/* SPDX-License-Identifier: Apache-2.0
 *
 * cct - the calling-context tree of one stack of a thread. It has a node for
 * each distinct stack of functions, with the calls and the time of exactly that
 * stack. All later sums, as in the summary and in profiles, come from these
 * trees.
 *
 * One thread at a time. Addresses come from the traced program and are only
 * compared. Many trees share one budget of memory. Without memory, calls of new
 * stacks are counted below the node "overflow": the calls of each function stay
 * exact, but their place in the tree is lost.
 *
 * A function is an address for a stretch of time. When its module is unloaded,
 * the function is retired, and later calls at this address belong to another
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

/* A function in all stacks of one tree. Replay sets most members. */
struct cct_function {
	uint64_t address;
	uint32_t generation; /* of the load map when it was first called */
	bool excluded;
	bool shifted; /* its end has another stack pointer */
	/* Its state in the function log, once it was read. */
	bool asked, connected, entry_build, off;
	struct encode_template begin; /* of its slices, with its name in the
				       * thread's sequence */
	uint64_t slow_ns; /* report calls that take this long (replay_sink) */
	struct histogram *histogram; /* of its calls (histograms.h); NULL:
				      * none */
	/* Last time off and last time connected; 0: never. Equal: it went off
	 * to be connected. */
	uint64_t off_ns, connect_ns;
	uint32_t active; /* for cct_sum() */
	uint32_t index; /* for cct_flat_copy() */
	uint64_t calls, self_ns, total_ns, cpu_samples;
	uint64_t unrecorded; /* by cct_sum(): calls that were only counted */
	/* By cct_sum(): perfrec's work in self_ns and in total_ns. */
	struct own_counts own_self, own_total;
	struct own_counts entered; /* for cct_sum() */
	struct cct_kernel_sums *kernel;
	uint64_t told_calls, told_ns; /* of drain/thread_durations.c */
	/* Calls that no thunk counted, because a hook began them before the
	 * function was connected. Late calls: withheld, because the function
	 * went off after their hook had begun. */
	uint64_t calls_before, late_calls;
	struct cct_function *next;
	struct cct_function *next_live;
	struct cct_node *nodes;
};

struct cct_node {
	uint64_t address; /* of the function; CCT_RETIRED when that is
			   * retired */
	/* CCT_PLAIN if begins of it may be written as they are: its function is
	 * not new, excluded or off. The bits above have the number of the last
	 * chunk of the index with an ended call of the node. */
	uint32_t stamp;
	uint32_t longest_ns; /* of calls that ended in that chunk; at most
			      * UINT32_MAX */
	struct cct_function *function;
	struct cct_node *parent;
	struct cct_node *last;
	struct cct_node *follow; /* the sibling called after it, last time */
	uint64_t calls;
	uint64_t total_ns;
	uint64_t unrecorded; /* calls that were only counted */
	/* While it was the innermost: */
	uint64_t cpu_samples;
	uint64_t blocks;
	uint64_t heap_samples;
	uint64_t wait_ns;

	uint64_t stray_ns; /* of callees outside this subtree */
	struct cct_node *child, *sibling;
	struct cct_node *of_function;
	uint32_t stack; /* number in the process' stacks; 0: not asked */
	uint32_t heap_site; /* site of its blocks; 0: not asked */
	uint32_t index_number;
	uint32_t touch;
	uint32_t index; /* for cct_flat_copy() and exact_calls.c */
	uint64_t dropped; /* calls without an end; set by replay */
	struct cct_kernel *kernel;
};

#define CCT_PLAIN 1u

/* Wider than a payload, so no record has it. */
#define CCT_RETIRED UINT64_MAX
/* As wide. The parent of calls that were counted but never recorded, so that
 * their callers are unknown (exact_calls.h). */
#define CCT_UNKNOWN_CALLERS (UINT64_MAX - 1)

struct cct {
	struct cct_node *root;
	struct cct_node *overflow; /* parent of nodes that found no room */
	struct cct_function *functions; /* the newest first */
	struct cct_function *live;
	uint32_t live_count;
	uint32_t generation;
	struct budget *budget;
	struct cct_chunk *chunks;
	size_t chunk_left;
	struct cct_table {
		void **entry;
		uint32_t count, mask;
	} node_table, function_table;
	uint64_t overflowed;
	/* For cct_kernel.c: */
	bool has_kernel;
	struct cct_kernel no_node; /* shared by nodes without memory for their
				    * own */
	struct cct_kernel_sums *kernel_sums;
};

/* Makes @cct an empty tree. @budget pays and must outlive it. Returns 0 or
 * -ENOMEM. The caller ends it with cct_release(). */
int cct_init(struct cct *cct, struct budget *budget);
void cct_release(struct cct *cct);

/* Calls @enter for each node below @root, visits the nodes below that node, and
 * calls @leave. */
typedef void cct_visit(struct cct_node *node, void *context);
void cct_walk(struct cct_node *root, cct_visit *enter, cct_visit *leave,
	      void *context);

/* Sums up the nodes of each function: see struct cct_function. The totals of a
 * recursive function count only its outermost calls. Call it once, when all
 * calls have ended. */
void cct_sum(struct cct *cct);

/* For cct_kernel.c: memory that the tree frees, or NULL. */
void *cct_memory(struct cct *cct, size_t bytes);

/* Returns perfrec's work in the time of @node itself. cct_own_in_caller() of
 * its callees has the rest. */
static inline struct own_counts cct_own(const struct cct_node *node)
{
	return (struct own_counts){ .inner = node->calls,
				    .blocks = node->blocks,
				    .heap_samples = node->heap_samples,
				    .cpu_samples = node->cpu_samples,
				    .wait_ns = node->wait_ns };
}

/* Returns perfrec's work for calls of @node in the time of its caller. */
static inline struct own_counts cct_own_in_caller(const struct cct_node *node)
{
	return (struct own_counts){ .outer = node->calls,
				    .counted = node->unrecorded };
}

/* Retires the functions at @start to @end - 1. Their calls stay counted, and
 * open calls may go on. The next call at such an address makes a new function,
 * with cct->generation. Visits live_count functions. */
void cct_retire(struct cct *cct, uint64_t start, uint64_t end);

/* Returns the function at @address, or NULL if it was never called or is
 * retired. */
struct cct_function *cct_find_function(const struct cct *cct, uint64_t address);

struct cct_node *cct_child_slow(struct cct *cct, struct cct_node *parent,
				uint64_t address);

/* Returns the node for a call of @address from @parent, never NULL. Without
 * memory it may be a child of overflow, or overflow itself. Two guesses come
 * first: the function that @parent called last, and the function that followed
 * it the last time. */
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
 * that was open around it. Without memory it may differ from @node's parent. */
static inline void cct_count(struct cct_node *node, struct cct_node *caller,
			     uint64_t ns)
{
	node->calls++;
	if (unlikely(node->parent != caller))
		caller->stray_ns += ns;
	node->total_ns += ns;
}

#endif
