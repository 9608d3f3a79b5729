/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_sums - each track with slices has a current node. A begin event moves
 * to the child with its name, an end event to the parent. Threads share no
 * nodes: each thread has a root, a node without a name.
 *
 * The total time of a function counts only its outermost calls, as in the
 * summary that a collector writes. Whether a node has a caller of the same name
 * is computed once, when the node is made.
 */
#include "collector/read/trace_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/read/thread_choice.h"
#include "collector/read/time_gaps.h"
#include "collector/trace/index_items.h"
#include "shared/compiler.h"

/* About four million stacks. */
#define BUDGET_BYTES (UINT64_C(256) << 20)
/* Limit for durations, a part of the budget. */
#define DURATIONS_BYTES (BUDGET_BYTES / 4)

static struct sums_node *sums_node_at(const struct trace_sums *sums,
				      uint32_t number)
{
	return &((struct sums_node *)sums->tree.nodes.items)[number];
}

/* Returns true if the slice is a wait for room in a ring: not a span, and not
 * time of the running function. Texts are compared with its name once. */
static bool is_wait_slice(struct trace_sums *sums,
			  const struct trace_event *event)
{
	if (likely(event->name < sums->wait_looked))
		return event->name && event->name == sums->wait_name;
	for (; sums->wait_looked <= event->name; sums->wait_looked++)
		if (strcmp(trace_reader_text(sums->tree.reader,
					     sums->wait_looked),
			   INDEX_WAIT_NAME) == 0)
			sums->wait_name = sums->wait_looked;
	return event->name && event->name == sums->wait_name;
}

static void begin_span(struct trace_sums *sums,
		       const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;
	bool has_thread = call_tree_thread(&sums->tree, event->track);
	bool counts = call_tree_counts(event);
	uint32_t node;

	if (is_wait_slice(sums, event)) {
		sums->waits++;
		return;
	}
	sums->spans += counts;
	sums->open_before += counts && shown->before;
	if (!has_thread) {
		sums->tree.folded += counts;
		return;
	}
	node = call_tree_enter(&sums->tree, shown, event->site ?: event->name,
			       counts);
	if (node)
		sums_node_at(sums, node)->calls += counts;
}

/* Returns the histogram of the calls of @name; NULL: no room. */
static struct histogram *find_durations(struct trace_sums *sums, uint32_t name)
{
	struct budget *budget = &sums->durations_budget;
	struct histogram *one;

	if (likely(name < sums->durations_room && sums->durations[name]))
		return sums->durations[name];
	if (grow_array_zeroed(sums->durations, sums->durations_room,
			      (size_t)name + 1) ||
	    !budget_take(budget, sizeof(*one)))
		return NULL;
	one = calloc(1, sizeof(*one));
	if (one)
		one->budget = budget;
	else
		budget_give(budget, sizeof(*one));
	sums->durations[name] = one;
	return one;
}

static void end_span(struct trace_sums *sums, const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;
	const struct window_slice *slice = shown->slice;
	uint64_t ns = event->ns - slice->shown_ns;
	uint64_t self_ns = ns - MIN(ns, slice->callee_ns);
	uint64_t whole_ns = trace_event_took(event, slice->begin_ns);
	struct histogram *durations;
	struct sums_node *node;
	uint32_t number;

	if (shown->after && event->name != sums->wait_name)
		sums->open_after++;
	if (!call_tree_thread(&sums->tree, event->track))
		return;
	number = call_tree_leave(&sums->tree, shown);
	if (!number && event->name == sums->wait_name) {
		/* A wait counts as a callee: it is not time of the caller. */
		sums->wait_ns += ns;
		return;
	}
	/* Without a node of its own, all of it is time of the caller. */
	node = sums_node_at(
		sums, number ?: sums->tree.tracks[event->track->number].node);
	node->self_ns += self_ns;
	if (!number)
		return;
	if (!shown->after && !event->unfinished)
		node->longest_ns = MAX(node->longest_ns, whole_ns);
	durations = find_durations(sums, node->call.name);
	if (durations)
		histogram_add(durations, whole_ns);
}

/* --- missing calls --- */

static void sum_instant(struct trace_sums *sums,
			const struct trace_event *event)
{
	enum time_gap_kind kind;
	uint64_t missing;

	if (!call_tree_missing(&sums->tree, event, &kind, &missing))
		return;
	if (kind == TIME_GAP_LOST)
		sums->lost += missing;
	else
		sums->paused += missing;
}

static void sum_event(struct trace_sums *sums, const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;

	if (!event->track || !track_has_calls(event->track))
		return;
	if (event->kind == TRACE_INSTANT)
		sum_instant(sums, event);
	else if (event->kind == TRACE_BEGIN)
		begin_span(sums, shown);
	else if (event->kind == TRACE_END)
		end_span(sums, shown);
}

/* --- skipped chunks --- */

static void flush_chunks(struct trace_sums *sums, struct chunk_sums *chunks)
{
	for (uint32_t i = 0; i < chunks->touched_count; i++) {
		struct chunk_sum sum;
		uint32_t number = chunk_sums_take(chunks, i, &sum);
		struct sums_node *node = sums_node_at(sums, number);

		if (sum.is_wait) {
			sums->waits += sum.calls;
			sums->wait_ns += sum.ns;
			continue;
		}
		sums->spans += sum.calls;
		node->self_ns += sum.ns;
		if (!sum.is_call) {
			sums->tree.folded += sum.calls;
			continue;
		}
		node->calls += sum.calls;
		node->longest_ns = MAX(node->longest_ns, sum.longest_ns);
	}
}

static int add_skipped(struct trace_sums *sums,
		       const struct skipped_chunks *skipped)
{
	struct chunk_sums chunks;
	int err = chunk_sums_begin(&chunks, &sums->tree, skipped);

	err = err ?: chunk_sums_add(&chunks, skipped->first, skipped->last);
	if (!err)
		flush_chunks(sums, &chunks);
	for (uint32_t i = skipped->first; i <= skipped->last; i++) {
		sums->lost += skipped->sequence->chunks[i].lost;
		sums->paused += skipped->sequence->chunks[i].paused;
	}
	chunk_sums_end(&chunks);
	return err;
}

/* --- sums --- */

/* Parents have lower numbers than children. */
static void sum_nodes(struct trace_sums *sums)
{
	for (uint32_t i = sums->tree.nodes.count; i-- > 1;) {
		struct sums_node *node = sums_node_at(sums, i);

		node->total_ns += node->self_ns;
		sums_node_at(sums, node->call.parent)->total_ns +=
			node->total_ns;
	}
}

/* Returns true if a caller has the same name, and the time. */
static bool is_inner(const struct trace_sums *sums,
		     const struct call_node *node)
{
	uint32_t name = node->name;

	for (;;) {
		node = call_tree_node(&sums->tree, node->parent);
		if (!node->parent)
			return false; /* a root */
		if (node->name == name)
			return true;
	}
}

/* Returns the durations of @one, or NULL if they lack some calls. */
static const struct histogram *durations_of(const struct trace_sums *sums,
					    const struct sums_function *one)
{
	const struct histogram *durations = one->name < sums->durations_room
						    ? sums->durations[one->name]
						    : NULL;

	return durations && !durations->missed &&
			       histogram_total(durations) == one->calls
		       ? durations
		       : NULL;
}

static int sum_functions(struct trace_sums *sums)
{
	uint32_t texts = trace_reader_texts(sums->tree.reader), count = 0;
	struct sums_function *all = calloc((size_t)texts + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 1; i < sums->tree.nodes.count; i++) {
		const struct sums_node *node = sums_node_at(sums, i);
		struct sums_function *one = &all[node->call.name];

		if (!node->call.parent)
			continue; /* a root */
		one->calls += node->calls;
		one->self_ns += node->self_ns;
		one->longest_ns = MAX(one->longest_ns, node->longest_ns);
		if (!is_inner(sums, &node->call))
			one->total_ns += node->total_ns;
	}
	for (uint32_t name = 0; name <= texts; name++)
		if (all[name].calls) {
			all[count] = all[name];
			all[count].name = name;
			all[count].durations = durations_of(sums, &all[count]);
			count++;
		}
	sums->functions = all;
	sums->function_count = count;
	return 0;
}

static int count_processes(struct trace_sums *sums)
{
	uint8_t *met = NULL;
	uint32_t room = 0;

	for (uint32_t i = 1; i < sums->tree.thread_count; i++) {
		const struct trace_track *process =
			sums->tree.threads[i].track->process;

		if (!process)
			continue;
		if (grow_array_zeroed(met, room, (size_t)process->number + 1)) {
			free(met);
			return -ENOMEM;
		}
		sums->processes += !met[process->number];
		met[process->number] = 1;
	}
	free(met);
	return 0;
}

static int sum_events(struct trace_sums *sums)
{
	const struct trace_index *index = window_index(sums->tree.window);
	struct skipped_chunks skipped;
	struct window_event event;
	int err = 0;

	for (uint32_t i = 0; index && i < index->sequence_count && !err; i++)
		if (call_tree_skipped(&sums->tree, i, &skipped))
			err = add_skipped(sums, &skipped);
	if (err)
		return err;
	while (call_tree_next(&sums->tree, &event))
		sum_event(sums, &event);
	sum_nodes(sums);
	return count_processes(sums) ? -ENOMEM : sum_functions(sums);
}

int trace_sums_read(const char *path, const struct window_choice *choice,
		    const struct read_progress *progress,
		    struct trace_sums **out)
{
	const struct window_choice all = { .range = TIME_RANGE_ALL };
	struct trace_sums *sums = calloc(1, sizeof(*sums));
	struct window_choice part;
	int err;

	if (!sums)
		return -ENOMEM;
	part = choice ? *choice : all;
	part.skips = PARTS_SKIP_CHUNKS;
	sums->tree.by_thread = true;
	sums->durations_budget = (struct budget){ .left = DURATIONS_BYTES,
						  .whole = &sums->tree.budget };
	err = call_tree_open(&sums->tree, path, &part, progress,
			     sizeof(struct sums_node), BUDGET_BYTES);
	err = err ?: sum_events(sums);
	if (err)
		trace_sums_free(&sums);
	else
		*out = sums;
	return err;
}

void trace_sums_free(struct trace_sums **sums_ptr)
{
	struct trace_sums *sums = *sums_ptr;

	*sums_ptr = NULL;
	if (!sums)
		return;
	for (uint32_t i = 0; i < sums->durations_room; i++) {
		if (sums->durations[i])
			histogram_release(sums->durations[i]);
		free(sums->durations[i]);
	}
	free(sums->durations);
	free(sums->functions);
	call_tree_close(&sums->tree);
	free(sums);
}
