/* SPDX-License-Identifier: Apache-2.0
 *
 * call_tree - the stacks of the calls in a part of a trace, as a tree of
 * names. Calls that are read enter and leave it one by one; skipped chunks of
 * the index add the sums of each stack. Its users have the amounts: calls.h by
 * time, trace_sums.h by thread. Memory is bounded for any trace, even a hostile
 * one. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_CALL_TREE_H
#define PERFREC_COLLECTOR_READ_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/base/pool.h"
#include "collector/read/time_gaps.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_read.h"
#include "collector/read/window.h"

/* A stack: its innermost function, and the stack of the caller. */
struct call_node {
	uint32_t parent; /* node of the caller, below this number; 0: none */
	uint32_t name; /* text of the trace; see call_tree.by_thread */
	uint32_t last; /* node of the latest callee; 0: none */
	union {
		uint32_t thread; /* by_thread */
		uint32_t hint; /* otherwise; for time_cells_get() */
	};
};

struct call_thread {
	const struct trace_track *track; /* NULL for thread 0 */
	/* For calls.h: the cells have all time before at_ns. */
	uint64_t at_ns;
	bool has_gap;
	struct time_gap gap;
	/* For calls.h: of open slices that have arguments, the innermost
	 * last. */
	struct open_arguments {
		uint32_t depth;
		struct call_arguments *arguments;
	} * open;
	uint32_t open_count, open_room;
};

struct call_tree {
	struct window *window;
	struct trace_reader *reader; /* owned by the window; has texts and
				      * tracks */
	struct trace_read_totals totals;
	struct budget budget;
	struct pool nodes; /* each starts with a struct call_node; node 0 is no
			    * function */
	/* Each thread has a tree of its own, with its contexts. The root is a
	 * node without a parent; its name is the number of the thread. Waits
	 * have no nodes, and slices of a site have the site's name.
	 * Otherwise all threads share node 0 as the root, a context is a
	 * thread, and slices of sites have no nodes. */
	bool by_thread;
	struct call_thread *threads; /* thread 0 is "unknown" */
	uint32_t thread_count, thread_room;
	struct tree_track {
		uint32_t thread; /* 0: none yet */
		uint32_t node; /* the running one; 0: none */
	} * tracks; /* by number of a track */
	uint32_t track_room;
	uint64_t folded; /* calls of stacks without room; their callers have
			  * the time */
	int err; /* of reading; 0: reached the end of the file */
};

/* Opens the part of the trace at @path that @choice selects. @tree is all zero
 * except by_thread. A node has @node_bytes, at most CALL_NODE_MOST, and all
 * nodes have @budget_bytes. @progress may be NULL. Returns 0, -errno of window_open(), or
 * -ENOMEM; the caller ends it with call_tree_close() in each case. */
#define CALL_NODE_MOST 64u
int call_tree_open(struct call_tree *tree, const char *path,
		   const struct window_choice *choice,
		   const struct read_progress *progress, size_t node_bytes,
		   size_t budget_bytes);
/* Frees what @tree owns; it may be all zero. */
void call_tree_close(struct call_tree *tree);
/* Reads the next event. Returns false at the end, and sets err and totals. */
bool call_tree_next(struct call_tree *tree, struct window_event *out);

/* Node @number, below tree->nodes.count. Adding nodes may move it. */
static inline struct call_node *call_tree_node(const struct call_tree *tree,
					       uint32_t number)
{
	return (struct call_node *)((char *)tree->nodes.items +
				    number * tree->nodes.item_bytes);
}

/* Returns the number of the thread of @track; 0: no room, or @track is NULL. */
uint32_t call_tree_thread(struct call_tree *tree,
			  const struct trace_track *track);
/* Returns the node of @name called by @parent, and adds it if necessary.
 * Returns 0 without room. */
uint32_t call_tree_child(struct call_tree *tree, uint32_t parent,
			 uint32_t name);

/* Makes @name the running function of the event's track until the slice of the
 * event ends. call_tree_thread() has found the thread of the track. Returns the
 * node; or 0 without room, and counts the call as folded if it @counts. */
uint32_t call_tree_enter(struct call_tree *tree,
			 const struct window_event *begin, uint32_t name,
			 bool counts);
/* Makes the caller the running function again. Returns the node that ended; or
 * 0, if the slice did not enter one. */
uint32_t call_tree_leave(struct call_tree *tree,
			 const struct window_event *end);
/* Returns false for a call that continues behind skipped chunks, which have
 * counted it. */
static inline bool call_tree_counts(const struct trace_event *begin)
{
	return !begin->seed || !begin->track->from_ns;
}

/* Returns true if the instant @event reports calls that were not recorded, and
 * sets *@kind and *@calls. */
bool call_tree_missing(const struct call_tree *tree,
		       const struct trace_event *event,
		       enum time_gap_kind *kind, uint64_t *calls);

/* The sums of one stack in skipped chunks. Numbers are modulo 2^64. */
struct chunk_sum {
	uint64_t ns; /* without callees */
	uint64_t calls; /* that began, or were open at FROM */
	uint64_t longest_ns;
	bool touched;
	bool is_wait;
	bool is_call; /* false: waits and sites without nodes of their own, and
		       * stacks without room: their callers have the time */
};

/* The sums of skipped chunks of one sequence. */
struct chunk_sums {
	struct call_tree *tree;
	struct skipped_chunks skipped;
	uint32_t *nodes; /* node of the tree plus 1, by node of the index; 0:
			  * not looked up yet */
	struct chunk_sum *sums; /* by node of the index */
	uint32_t *touched; /* nodes of the index with sums */
	uint32_t touched_count;
	struct index_buffer buffer; /* current rows */
};

/* Sets *@skipped to the chosen chunks of sequence @number of the index that are
 * skipped. Returns false if there are none. */
bool call_tree_skipped(const struct call_tree *tree, uint32_t number,
		       struct skipped_chunks *skipped);
/* Makes *@sums empty. Returns 0 or -ENOMEM; chunk_sums_end() frees *@sums in
 * both cases. */
int chunk_sums_begin(struct chunk_sums *sums, struct call_tree *tree,
		     const struct skipped_chunks *skipped);
void chunk_sums_end(struct chunk_sums *sums);
/* Adds the chunks from @first to @last. Returns 0, -EIO if a part of the index
 * is unreadable, or -ENOMEM. */
int chunk_sums_add(struct chunk_sums *sums, uint32_t first, uint32_t last);
/* Moves the sum at @at of sums->touched to *@out, and returns the node of the
 * tree that has it: its own, or the caller's; 0: none. */
uint32_t chunk_sums_take(struct chunk_sums *sums, uint32_t at,
			 struct chunk_sum *out);

#endif
