/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/read/thread_choice.h"
#include "collector/read/time_cells.h"
#include "shared/compiler.h"

/* --- threads --- */

static uint32_t add_thread(struct call_tree *tree,
			   const struct trace_track *track)
{
	if (tree->thread_count == TIME_THREADS_MAX ||
	    grow_array(tree->threads, tree->thread_room,
		       tree->thread_count + 1))
		return 0;
	tree->threads[tree->thread_count] =
		(struct call_thread){ .track = track };
	return tree->thread_count++;
}

uint32_t call_tree_thread(struct call_tree *tree,
			  const struct trace_track *track)
{
	const struct trace_track *owner;
	uint32_t *thread;

	if (unlikely(!track))
		return 0;
	if (likely(track->number < tree->track_room &&
		   tree->tracks[track->number].thread))
		return tree->tracks[track->number].thread;
	owner = tree->by_thread ? call_track_thread(tree->reader, track)
				: track;
	if (grow_array_zeroed(tree->tracks, tree->track_room,
			      (size_t)MAX(track->number, owner->number) + 1))
		return 0;
	thread = &tree->tracks[owner->number].thread;
	if (!*thread)
		*thread = add_thread(tree, owner);
	return tree->tracks[track->number].thread = *thread;
}

/* --- nodes --- */

static uint32_t intern_tree_node(struct call_tree *tree,
				 const struct call_node *node)
{
	union {
		struct call_node node;
		uint64_t words[CALL_NODE_MOST / sizeof(uint64_t)];
	} item = { .words = { 0 } };
	uint32_t number;

	item.node = *node;
	return pool_intern(&tree->nodes, &item, &number) < 0 ? 0 : number;
}

uint32_t call_tree_child(struct call_tree *tree, uint32_t parent, uint32_t name)
{
	const struct call_node *caller = call_tree_node(tree, parent);
	uint32_t last = caller->last;

	if (likely(last && call_tree_node(tree, last)->name == name))
		return last;
	if (tree->nodes.count == TIME_NODES_MAX)
		return 0;
	last = intern_tree_node(
		tree, &(struct call_node){
			      .parent = parent,
			      .name = name,
			      .thread = tree->by_thread ? caller->thread : 0 });
	if (last)
		call_tree_node(tree, parent)->last = last;
	return last;
}

/* Returns 0 without room. */
static uint32_t thread_root(struct call_tree *tree, uint32_t thread)
{
	return intern_tree_node(
		tree, &(struct call_node){ .name = thread, .thread = thread });
}

/* --- the trace --- */

int call_tree_open(struct call_tree *tree, const char *path,
		   const struct window_choice *choice,
		   const struct read_progress *progress, size_t node_bytes,
		   size_t budget_bytes)
{
	int err = window_open(path, choice, &tree->window);

	if (err)
		return err;
	tree->reader = window_trace(tree->window);
	if (progress)
		trace_reader_set_progress(tree->reader, progress);
	tree->budget.left = budget_bytes;
	pool_init(&tree->nodes, &tree->budget, node_bytes,
		  offsetof(struct call_node, last));
	intern_tree_node(tree, &(struct call_node){ 0 });
	add_thread(tree, NULL);
	return tree->nodes.count && tree->thread_count ? 0 : -ENOMEM;
}

void call_tree_close(struct call_tree *tree)
{
	pool_release(&tree->nodes);
	free(tree->threads);
	free(tree->tracks);
	window_close(&tree->window);
}

bool call_tree_next(struct call_tree *tree, struct window_event *out)
{
	int got = window_next(tree->window, out);

	if (got > 0)
		return true;
	tree->err = got;
	tree->totals = trace_reader_totals(tree->reader);
	return false;
}

/* --- calls --- */

uint32_t call_tree_enter(struct call_tree *tree,
			 const struct window_event *begin, uint32_t name,
			 bool counts)
{
	struct tree_track *track = &tree->tracks[begin->event.track->number];
	uint32_t node = track->node;

	if (tree->by_thread && !node)
		node = thread_root(tree, track->thread);
	if (node || !tree->by_thread)
		node = call_tree_child(tree, node, name);
	if (!node) {
		tree->folded += counts;
		return 0;
	}
	begin->slice->user = track->node = node;
	return node;
}

uint32_t call_tree_leave(struct call_tree *tree, const struct window_event *end)
{
	uint32_t node = (uint32_t)end->slice->user;

	if (node)
		tree->tracks[end->event.track->number].node =
			call_tree_node(tree, node)->parent;
	return node;
}

/* --- calls that were not recorded --- */

bool call_tree_missing(const struct call_tree *tree,
		       const struct trace_event *event,
		       enum time_gap_kind *kind, uint64_t *calls)
{
	struct trace_event copy = *event;
	struct trace_argument argument;

	/* These instants have one argument only. */
	if (!trace_argument_next(tree->reader, &copy, &argument) ||
	    (argument.kind != TRACE_ARGUMENT_INT &&
	     argument.kind != TRACE_ARGUMENT_UINT))
		return false;
	*calls = argument.number;
	*kind = TIME_GAP_LOST;
	if (trace_argument_is(&argument, TIME_GAP_LOST_NAME))
		return true;
	*kind = TIME_GAP_PAUSED;
	return trace_argument_is(&argument, TIME_GAP_PAUSED_NAME);
}

/* --- skipped chunks --- */

/* A row of a chunk has the time of a node with its callees, and the number of
 * calls that ended. So the time is added to the node and subtracted from its
 * caller. Calls that began = calls that ended + calls open at the end of the
 * last chunk - calls open at the start of the first. */

bool call_tree_skipped(const struct call_tree *tree, uint32_t number,
		       struct skipped_chunks *skipped)
{
	return trace_reader_skipped(tree->reader, number, skipped) &&
	       window_gives_track(tree->window, skipped->track);
}

int chunk_sums_begin(struct chunk_sums *sums, struct call_tree *tree,
		     const struct skipped_chunks *skipped)
{
	size_t count = (size_t)skipped->sequence->node_count + 1;

	*sums = (struct chunk_sums){
		.tree = tree,
		.skipped = *skipped,
		.nodes = calloc(count, sizeof(*sums->nodes)),
		.sums = calloc(count, sizeof(*sums->sums)),
		.touched = calloc(count, sizeof(*sums->touched)),
	};
	return sums->nodes && sums->sums && sums->touched ? 0 : -ENOMEM;
}

void chunk_sums_end(struct chunk_sums *sums)
{
	free(sums->nodes);
	free(sums->sums);
	free(sums->touched);
	free(sums->buffer.at);
}

/* Finds the node of the tree for @number, a callee of @parent, and whether its
 * slices are calls. The caller also has the time of nodes without room. */
static void find_child(struct chunk_sums *sums, uint32_t number,
		       uint32_t parent)
{
	const struct index_sequence *sequence = sums->skipped.sequence;
	struct call_tree *tree = sums->tree;
	uint32_t iid = sequence->nodes[number].iid, node = 0;
	bool has_node;

	if (tree->by_thread)
		has_node = parent && iid;
	else
		has_node = !iid || !trace_reader_is_site(tree->reader,
							 sequence->id, iid);

	if (has_node)
		node = call_tree_child(
			tree, parent,
			trace_reader_name(tree->reader, sequence->id, iid));
	sums->sums[number].is_wait = !iid;
	sums->sums[number].is_call = node;
	sums->nodes[number] = (node ?: parent) + 1;
}

/* Sums of events that are read count a thread from its first call or wait on; a
 * thread with instants alone does not count here either. */
static uint32_t meet_root(struct chunk_sums *sums)
{
	uint32_t thread = call_tree_thread(sums->tree, sums->skipped.track);

	return sums->tree->by_thread && thread ? thread_root(sums->tree, thread)
					       : 0;
}

/* Returns false if the callers of node @number of the index are damaged. */
static bool find_node(struct chunk_sums *sums, uint32_t number)
{
	uint32_t path[INDEX_PATH_MOST], top, node;
	uint32_t depth = index_node_path(sums->skipped.sequence, number,
					 sums->nodes, path, &top);

	if (depth == INDEX_PATH_MOST)
		return false;
	node = top ? sums->nodes[top] - 1 : depth ? meet_root(sums) : 0;
	while (depth) {
		find_child(sums, path[--depth], node);
		node = sums->nodes[path[depth]] - 1;
	}
	return true;
}

static struct chunk_sum *touch_sum(struct chunk_sums *sums, uint32_t number)
{
	struct chunk_sum *sum = &sums->sums[number];

	if (!sum->touched)
		sums->touched[sums->touched_count++] = number;
	sum->touched = true;
	return sum;
}

/* Adds @calls to each slice open at the start of chunk @number. */
static int add_open(struct chunk_sums *sums, uint32_t number, uint64_t calls)
{
	struct index_stack stack;
	int err = index_chunk_stack(sums->skipped.sequence, number, &stack);

	for (uint32_t i = 0; i < stack.count; i++) {
		find_node(sums, stack.slices[i].node);
		touch_sum(sums, stack.slices[i].node)->calls += calls;
	}
	free(stack.slices);
	return err;
}

static void add_row(struct chunk_sums *sums, const struct index_row *row)
{
	uint32_t caller = sums->skipped.sequence->nodes[row->node].parent;
	bool found = find_node(sums, row->node);
	struct chunk_sum *sum = touch_sum(sums, row->node);

	sum->ns += row->total_ns;
	sum->calls += row->calls;
	sum->longest_ns = MAX(sum->longest_ns, row->longest_ns);
	if (found && caller)
		touch_sum(sums, caller)->ns -= row->total_ns;
}

int chunk_sums_add(struct chunk_sums *sums, uint32_t first, uint32_t last)
{
	const struct index_sequence *sequence = sums->skipped.sequence;
	const struct trace_index *index = window_index(sums->tree->window);
	int err = add_open(sums, first, UINT64_MAX);

	for (uint32_t i = first; i <= last && !err; i++) {
		const struct index_chunk *chunk = &sequence->chunks[i];
		struct index_get rows =
			index_load(index, chunk->rows, &sums->buffer);
		struct index_row row;
		int64_t node = 0;

		err = rows.bad ? -EIO : 0;
		for (uint64_t left = chunk->row_count;
		     left && index_row_next(sequence, &rows, &node, &row);
		     left--)
			add_row(sums, &row);
	}
	return err ?: add_open(sums, last + 1, 1);
}

uint32_t chunk_sums_take(struct chunk_sums *sums, uint32_t at,
			 struct chunk_sum *out)
{
	uint32_t number = sums->touched[at];
	struct chunk_sum *sum = &sums->sums[number];

	*out = *sum;
	sum->ns = sum->calls = sum->longest_ns = 0;
	sum->touched = false;
	return sums->nodes[number] ? sums->nodes[number] - 1 : 0;
}
