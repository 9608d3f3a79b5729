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
#include "collector/read/trace_sums_inner.h"

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
#define THREADS_MAX (1u << 20)

/* In trace_slice.user: the slice has no node of its own. */
#define NO_NODE 1u

/* --- threads --- */

static bool has_spans(const struct trace_track *track)
{
	return track && track_has_calls(track);
}

static int reserve_track(struct trace_sums *sums, uint32_t number)
{
	if (grow_array_zeroed(sums->current, sums->current_room,
			      (size_t)number + 1) ||
	    grow_array_zeroed(sums->thread_of, sums->thread_of_room,
			      (size_t)number + 1))
		return -ENOMEM;
	return 0;
}

static uint32_t add_thread(struct trace_sums *sums,
			   const struct trace_track *track)
{
	if (sums->thread_count == THREADS_MAX ||
	    grow_array(sums->threads, sums->thread_room,
		       sums->thread_count + 1))
		return 0;
	sums->threads[sums->thread_count] =
		(struct sums_thread){ .track = track };
	return sums->thread_count++;
}

/* A context belongs to its thread. */
static const struct trace_track *owner_of(const struct trace_sums *sums,
					  const struct trace_track *track)
{
	const struct trace_track *parent = NULL;

	if (track->kind == TRACE_TRACK_CONTEXT)
		parent = trace_reader_find_track(sums->reader, track->parent);
	return parent ? parent : track;
}

uint32_t trace_sums_thread(struct trace_sums *sums,
			   const struct trace_track *track)
{
	const struct trace_track *owner;

	if (likely(track->number < sums->thread_of_room &&
		   sums->thread_of[track->number]))
		return sums->thread_of[track->number];
	owner = owner_of(sums, track);
	if (reserve_track(sums, MAX(track->number, owner->number)))
		return 0;
	if (!sums->thread_of[owner->number])
		sums->thread_of[owner->number] = add_thread(sums, owner);
	sums->thread_of[track->number] = sums->thread_of[owner->number];
	return sums->thread_of[track->number];
}

/* --- nodes --- */

static bool is_inner(struct trace_sums *sums, uint32_t number)
{
	uint32_t name = trace_sums_at(sums, number)->name;

	for (;;) {
		number = trace_sums_at(sums, number)->parent;
		if (!trace_sums_at(sums, number)->parent)
			return false; /* a root */
		if (trace_sums_at(sums, number)->name == name)
			return true;
	}
}

uint32_t trace_sums_child(struct trace_sums *sums, uint32_t parent,
			  uint32_t name)
{
	struct sums_node item = { .parent = parent, .name = name };
	uint32_t child = trace_sums_at(sums, parent)->last;
	int added;

	if (likely(child && trace_sums_at(sums, child)->name == name))
		return child;
	item.thread = trace_sums_at(sums, parent)->thread;
	added = pool_intern(&sums->nodes, &item, &child);
	if (added < 0)
		return 0;
	if (added)
		trace_sums_at(sums, child)->inner = is_inner(sums, child);
	trace_sums_at(sums, parent)->last = child;
	return child;
}

/* The key of a root has the thread's number as the name, and no parent. No
 * stack has such a key. */
uint32_t trace_sums_root(struct trace_sums *sums, uint32_t thread)
{
	const struct sums_node item = { .name = thread, .thread = thread };
	uint32_t root;

	return pool_intern(&sums->nodes, &item, &root) < 0 ? 0 : root;
}

/* Returns true if the slice is a wait for room in a ring: not a span, and not
 * time of the running function. Texts are compared with its name once. */
static bool is_wait(struct trace_sums *sums, const struct trace_event *event)
{
	if (likely(event->name < sums->wait_looked))
		return event->name && event->name == sums->wait_name;
	for (; sums->wait_looked <= event->name; sums->wait_looked++)
		if (strcmp(trace_reader_text(sums->reader, sums->wait_looked),
			   INDEX_WAIT_NAME) == 0)
			sums->wait_name = sums->wait_looked;
	return event->name && event->name == sums->wait_name;
}

static void begin_span(struct trace_sums *sums,
		       const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;
	uint32_t number = event->track->number, node;
	uint32_t thread = trace_sums_thread(sums, event->track);
	/* A call that continues behind skipped chunks is already counted. */
	bool counts = !event->seed || !event->track->from_ns;

	shown->slice->user = NO_NODE;
	if (is_wait(sums, event)) {
		sums->waits++;
		return;
	}
	sums->spans += counts;
	sums->open_before += counts && shown->before;
	if (!thread) {
		sums->folded += counts;
		return;
	}
	sums->threads[thread].spans += counts;
	node = sums->current[number];
	if (!node)
		node = trace_sums_root(sums, thread);
	if (node)
		node = trace_sums_child(sums, node, event->site ?: event->name);
	if (!node) {
		sums->folded += counts;
		return;
	}
	trace_sums_at(sums, node)->calls += counts;
	sums->current[number] = node;
	shown->slice->user = (uint64_t)node << 1;
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

static void note_longest(struct sums_node *node,
			 const struct window_event *shown)
{
	uint64_t ns = trace_event_took(&shown->event, shown->slice->begin_ns);

	if (!shown->after && !shown->event.unfinished)
		node->longest_ns = MAX(node->longest_ns, ns);
}

static void end_span(struct trace_sums *sums, const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;
	const struct window_slice *slice = shown->slice;
	uint64_t user = slice->user;
	uint64_t ns = event->ns - slice->shown_ns;
	struct histogram *durations;
	struct sums_node *node;

	if (shown->after && event->name != sums->wait_name)
		sums->open_after++;
	if (event->track->number >= sums->current_room)
		return;
	if (user & NO_NODE && event->name == sums->wait_name) {
		/* A wait counts as a callee: it is not time of the caller. */
		sums->wait_ns += ns;
		return;
	}
	if (user & NO_NODE) {
		/* All of it is time of the caller. */
		node = trace_sums_at(sums, sums->current[event->track->number]);
		node->self_ns += ns - MIN(ns, slice->callee_ns);
		return;
	}
	node = trace_sums_at(sums, (uint32_t)(user >> 1));
	node->self_ns += ns - MIN(ns, slice->callee_ns);
	note_longest(node, shown);
	durations = find_durations(sums, node->name);
	if (durations)
		histogram_add(durations,
			      trace_event_took(event, slice->begin_ns));
	sums->current[event->track->number] = node->parent;
}

/* --- missing calls --- */

/* Instants of a thread report the number of missing calls. */
static void take_instant(struct trace_sums *sums,
			 const struct trace_event *event)
{
	struct trace_event copy = *event;
	struct trace_argument argument;

	/* These instants have one argument only. */
	if (!has_spans(event->track) ||
	    !trace_argument_next(sums->reader, &copy, &argument) ||
	    (argument.kind != TRACE_ARGUMENT_INT &&
	     argument.kind != TRACE_ARGUMENT_UINT))
		return;
	if (trace_argument_is(&argument, TIME_GAP_LOST_NAME))
		sums->lost += argument.number;
	else if (trace_argument_is(&argument, TIME_GAP_PAUSED_NAME))
		sums->paused += argument.number;
}

static void take_event(struct trace_sums *sums,
		       const struct window_event *shown)
{
	const struct trace_event *event = &shown->event;

	if (event->kind == TRACE_SAMPLE) {
		sums->samples++;
		return;
	}
	if (!event->track)
		return;
	if (event->kind == TRACE_INSTANT)
		take_instant(sums, event);
	if (!has_spans(event->track))
		return;
	if (event->kind == TRACE_BEGIN)
		begin_span(sums, shown);
	else if (event->kind == TRACE_END)
		end_span(sums, shown);
}

/* --- sums --- */

/* Parents have lower numbers than children. */
static void sum_nodes(struct trace_sums *sums)
{
	for (uint32_t i = sums->nodes.count; i-- > 1;) {
		struct sums_node *node = trace_sums_at(sums, i);

		node->total_ns += node->self_ns;
		trace_sums_at(sums, node->parent)->total_ns += node->total_ns;
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
	uint32_t texts = trace_reader_texts(sums->reader), count = 0;
	struct sums_function *all = calloc((size_t)texts + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 1; i < sums->nodes.count; i++) {
		const struct sums_node *node = trace_sums_at(sums, i);
		struct sums_function *one = &all[node->name];

		if (!node->parent)
			continue; /* a root */
		one->calls += node->calls;
		one->self_ns += node->self_ns;
		one->longest_ns = MAX(one->longest_ns, node->longest_ns);
		if (!node->inner)
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

	for (uint32_t i = 1; i < sums->thread_count; i++) {
		const struct trace_track *process =
			sums->threads[i].track->process;

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

static int read_events(struct trace_sums *sums)
{
	const struct sums_node none = { 0 };
	struct window_event event;
	uint32_t zero;
	int got, err;

	pool_init(&sums->nodes, &sums->budget, sizeof(struct sums_node),
		  2 * sizeof(uint32_t));
	if (pool_intern(&sums->nodes, &none, &zero) < 0 ||
	    grow_array(sums->threads, sums->thread_room, 1))
		return -ENOMEM;
	sums->threads[sums->thread_count++] = (struct sums_thread){ 0 };
	err = trace_chunks_add(sums);
	if (err)
		return err;
	while ((got = window_next(sums->window, &event)) > 0)
		take_event(sums, &event);
	sums->err = got;
	sums->totals = trace_reader_totals(sums->reader);
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
	sums->budget.left = BUDGET_BYTES;
	sums->durations_budget = (struct budget){ .left = DURATIONS_BYTES,
						  .whole = &sums->budget };
	err = window_open(path, &part, &sums->window);
	if (!err) {
		sums->reader = window_trace(sums->window);
		if (progress)
			trace_reader_set_progress(sums->reader, progress);
		err = read_events(sums);
	}
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
	pool_release(&sums->nodes);
	for (uint32_t i = 0; i < sums->durations_room; i++) {
		if (sums->durations[i])
			histogram_release(sums->durations[i]);
		free(sums->durations[i]);
	}
	free(sums->durations);
	free(sums->threads);
	free(sums->current);
	free(sums->thread_of);
	free(sums->functions);
	window_close(&sums->window);
	free(sums);
}
