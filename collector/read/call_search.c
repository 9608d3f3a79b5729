/* SPDX-License-Identifier: Apache-2.0
 *
 * call_search - trace_slice.user of an open call that matches has a pointer to
 * its arguments. The lowest bit is set as a mark, and the next ones for the
 * conditions that its arguments fulfil. The kept calls form a heap;
 * its top is the next call to be evicted.
 */
#include "collector/read/call_search.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/names/name_pattern.h"
#include "collector/options/argument_conditions.h"
#include "collector/read/call_chunks.h"
#include "collector/read/thread_choice.h"
#include "collector/read/trace_bounds.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_parts.h"
#include "shared/compiler.h"

#define IS_WANTED 1u /* in trace_slice.user */
#define USER_MARKS UINT64_C(15)

_Static_assert(IS_WANTED << ARGUMENT_CONDITIONS_MAX <= USER_MARKS / 2 + 1,
	       "malloc() aligns to 16");

enum name_match { MATCH_UNKNOWN, MATCH_YES, MATCH_NO };

/* --- the heap of kept calls --- */

/* Returns less than 0 if @a comes before @b in the results. No two calls are
 * equal. */
static int compare_found(const struct call_wish *wish,
			 const struct found_call *a, const struct found_call *b)
{
	if (!wish->by_time && a->took_ns != b->took_ns)
		return a->took_ns > b->took_ns ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->track != b->track)
		return a->track->number < b->track->number ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

static void swap_found(struct found_call *a, struct found_call *b)
{
	struct found_call kept = *a;

	*a = *b;
	*b = kept;
}

static void sift_up(struct call_search *search, size_t at)
{
	struct found_call *calls = search->calls;

	while (at) {
		size_t parent = (at - 1) / 2;

		if (compare_found(&search->wish, &calls[at], &calls[parent]) <
		    0)
			return;
		swap_found(&calls[at], &calls[parent]);
		at = parent;
	}
}

static void sift_down(struct call_search *search, size_t at, size_t count)
{
	struct found_call *calls = search->calls;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= count)
			return;
		if (child + 1 < count &&
		    compare_found(&search->wish, &calls[child],
				  &calls[child + 1]) < 0)
			child++;
		if (compare_found(&search->wish, &calls[child], &calls[at]) < 0)
			return;
		swap_found(&calls[at], &calls[child]);
		at = child;
	}
}

/* Turns the heap into a sorted list. */
static void sort_found(struct call_search *search)
{
	for (size_t count = search->count; count > 1; count--) {
		swap_found(&search->calls[0], &search->calls[count - 1]);
		sift_down(search, 0, count - 1);
	}
}

static void forget_arguments(struct call_search *search,
			     struct call_arguments *arguments)
{
	search->argument_bytes -= arguments ? arguments->bytes : 0;
	free(arguments);
}

static int keep_call(struct call_search *search, const struct found_call *call)
{
	size_t most = search->wish.limit
			      ? MIN(search->wish.limit, CALL_SEARCH_MAX)
			      : CALL_SEARCH_MAX;

	search->matched++;
	if (search->count < most) {
		if (grow_array(search->calls, search->room, search->count + 1))
			return -ENOMEM;
		search->calls[search->count++] = *call;
		sift_up(search, search->count - 1);
		return 0;
	}
	if (compare_found(&search->wish, call, &search->calls[0]) > 0) {
		forget_arguments(search, call->arguments);
		return 0;
	}
	forget_arguments(search, search->calls[0].arguments);
	search->calls[0] = *call;
	sift_down(search, 0, search->count);
	return 0;
}

/* --- calls --- */

/* Returns 1, 0 or -ENOMEM. */
static int is_wanted_function(struct call_search *search, uint32_t name)
{
	if (grow_array_zeroed(search->matches, search->match_room,
			      (size_t)name + 1))
		return -ENOMEM;
	if (search->matches[name] == MATCH_UNKNOWN)
		search->matches[name] =
			name_pattern_matches(
				search->wish.function,
				trace_reader_text(search->reader, name), "")
				? MATCH_YES
				: MATCH_NO;
	search->met_function |= search->matches[name] == MATCH_YES;
	return search->matches[name] == MATCH_YES;
}

/* Returns 1, 0 or -ENOMEM. */
static int is_of_thread(struct call_search *search,
			const struct trace_event *event)
{
	uint32_t number = event->track->number;
	bool open = event->kind == TRACE_END || event->depth;

	if (!search->wish.thread)
		return 1;
	if (grow_array_zeroed(search->choices, search->choice_room,
			      (size_t)number + 1))
		return -ENOMEM;
	if (!thread_choice_has(&search->choices[number], search->reader,
			       search->wish.thread, event->track, open))
		return 0;
	search->met_thread = true;
	return 1;
}

static int begin_searched_call(struct call_search *search,
			       const struct trace_event *event)
{
	struct call_arguments *arguments = NULL;
	int wanted = is_wanted_function(search, event->name);
	int of_thread = is_of_thread(search, event);

	if (wanted < 0 || of_thread < 0)
		return -ENOMEM;
	if (!search->bounds.first_ns || event->ns < search->bounds.first_ns)
		search->bounds.first_ns = event->ns;
	if (!wanted || !of_thread ||
	    (search->wish.trace_id &&
	     !request_choice_has(&search->request, search->reader,
				 event->track)))
		return 0;
	if (event->fields.at &&
	    search->argument_bytes < CALL_SEARCH_ARGUMENT_BYTES)
		arguments = call_arguments_of(search->reader, event);
	search->argument_bytes += arguments ? arguments->bytes : 0;
	event->slice->user =
		(uintptr_t)arguments | IS_WANTED |
		call_arguments_match(search->reader, event,
				     search->wish.conditions, &search->named)
			<< 1;
	return 0;
}

/* Returns true if the arguments of the call that @event ends, and its result,
 * fulfil all conditions. */
static bool are_conditions_met(struct call_search *search,
			       const struct trace_event *event)
{
	const struct argument_conditions *conditions = search->wish.conditions;
	uint32_t met = (uint32_t)(event->slice->user & USER_MARKS) >> 1;

	if (!conditions)
		return true;
	met |= call_arguments_match(search->reader, event, conditions,
				    &search->named);
	return met == (1u << conditions->count) - 1;
}

static void keep_result(struct call_search *search,
			const struct trace_event *event,
			struct found_call *call)
{
	size_t before = call->arguments ? call->arguments->bytes : 0;

	if (!event->fields.at ||
	    search->argument_bytes >= CALL_SEARCH_ARGUMENT_BYTES)
		return;
	call->arguments = call_arguments_add_result(call->arguments,
						    search->reader, event);
	search->argument_bytes +=
		(call->arguments ? call->arguments->bytes : 0) - before;
}

static bool is_wanted_call(struct call_search *search,
			   const struct found_call *call)
{
	const struct call_wish *wish = &search->wish;
	uint64_t took = call->took_ns;

	if (call->begin_ns >= wish->range.to_ns ||
	    call->end_ns < wish->range.from_ns)
		return false;
	if (!search->seen++ || took < search->shortest_ns)
		search->shortest_ns = took;
	search->longest_ns = MAX(search->longest_ns, took);
	return took >= wish->min_ns && took <= wish->max_ns;
}

static int end_searched_call(struct call_search *search,
			     const struct trace_event *event)
{
	uint64_t user = event->slice->user;
	struct found_call call = {
		.begin_ns = event->slice->begin_ns,
		.end_ns = event->ns,
		.took_ns = trace_event_took(event, event->slice->begin_ns),
		.number = search->matched,
		.track = event->track,
		.name = event->name,
		.depth = event->depth,
		.unfinished = event->unfinished,
		.arguments = (struct call_arguments *)(uintptr_t)(user &
								  ~USER_MARKS),
	};

	if (!(user & IS_WANTED))
		return 0;
	if (!event->left && is_wanted_call(search, &call) &&
	    are_conditions_met(search, event)) {
		keep_result(search, event, &call);
		return keep_call(search, &call);
	}
	forget_arguments(search, call.arguments);
	return 0;
}

static int search_event(struct call_search *search,
			const struct trace_event *event)
{
	int err = 0;

	if (!event->track || !track_has_calls(event->track))
		return 0;
	if (search->wish.trace_id)
		err = request_choice_take(&search->request, search->reader,
					  event);
	search->met_request |= search->request.met;
	if (err)
		return err;
	if (event->kind == TRACE_BEGIN)
		return begin_searched_call(search, event);
	return event->kind == TRACE_END ? end_searched_call(search, event) : 0;
}

/* Reads on after an error: each slice must end to free its arguments. */
static int search_events(struct call_search *search)
{
	struct trace_event event;
	int got, err = 0;

	while ((got = trace_reader_next(search->reader, &event)) > 0)
		if (!err)
			err = search_event(search, &event);
		else if (event.slice && event.kind == TRACE_END)
			free((void *)(uintptr_t)(event.slice->user &
						 ~USER_MARKS));
	search->err = got;
	search->totals = trace_reader_totals(search->reader);
	search->bounds.last_ns = search->totals.last_ns;
	if (!err)
		sort_found(search);
	return err;
}

static int new_search(const struct call_wish *wish, struct call_search **out)
{
	struct call_search *search = calloc(1, sizeof(*search));

	if (!search)
		return -ENOMEM;
	search->wish = *wish;
	search->met_thread = !wish->thread;
	search->met_request = !wish->trace_id;
	search->request.wanted = wish->trace_id;
	*out = search;
	return 0;
}

/* Takes ownership of @reader. */
static int run_with(const struct call_wish *wish, struct trace_reader *reader,
		    const struct read_progress *progress,
		    struct call_search **out)
{
	struct call_search *search;
	int err = new_search(wish, &search);

	if (err) {
		trace_reader_close(&reader);
		return err;
	}
	search->reader = reader;
	if (progress)
		trace_reader_set_progress(reader, progress);
	err = search_events(search);
	if (err)
		call_search_free(&search);
	else
		*out = search;
	return err;
}

/* Reads only the chunks that may have matching calls. Returns 0 or -errno.
 * *@out stays NULL if the trace must be read as a whole: nothing matched, or
 * something is damaged. */
static int run_by_index(const char *path, const struct trace_index *index,
			const struct call_wish *wish,
			const struct read_progress *progress,
			struct call_search **out)
{
	struct call_chunks chunks;
	struct trace_reader *reader;
	const struct parts_choice choice = { .wants = call_chunks_want,
					     .context = &chunks };
	int err = call_chunks_take(&chunks, index, wish);

	if (!err)
		err = trace_reader_open_parts(path, index, &choice, &reader);
	if (!err)
		err = run_with(wish, reader, progress, out);
	if (!err) {
		(*out)->seen += chunks.passed;
		(*out)->matched += chunks.all ? chunks.passed : 0;
		(*out)->longest_ns = MAX((*out)->longest_ns, chunks.longest_ns);
		(*out)->met_function |= chunks.passed > 0;
	}
	call_chunks_release(&chunks);
	if (!err)
		err = trace_bounds_read(path, index, NULL, &(*out)->bounds);
	/* A report of missing calls needs the whole trace. */
	if (*out &&
	    (err || (*out)->err ||
	     (!(*out)->count &&
	      !((*out)->seen && (*out)->met_function && (*out)->met_thread))))
		call_search_free(out);
	return err;
}

int call_search_run(const char *path, const struct call_wish *wish,
		    const struct read_progress *progress,
		    struct call_search **out)
{
	struct call_search *search = NULL;
	struct trace_index *index = NULL;
	struct trace_reader *reader;
	int err = 0;

	/* Only the whole trace says which request a thread works on; the index
	 * does not have arguments. */
	if (!wish->trace_id && !wish->conditions &&
	    !trace_index_read_beside(path, &index) && index->has_rest)
		err = run_by_index(path, index, wish, progress, &search);
	if (search) {
		search->index = index;
		index = NULL;
	}
	trace_index_free(&index);
	if (!err && !search) {
		err = trace_reader_open(path, &reader);
		err = err ?: run_with(wish, reader, progress, &search);
	}
	if (!err)
		*out = search;
	return err;
}

void call_search_free(struct call_search **search_ptr)
{
	struct call_search *search = *search_ptr;

	*search_ptr = NULL;
	if (!search)
		return;
	for (size_t i = 0; i < search->count; i++)
		free(search->calls[i].arguments);
	free(search->calls);
	free(search->matches);
	free(search->choices);
	request_choice_release(&search->request);
	trace_reader_close(&search->reader);
	trace_index_free(&search->index);
	free(search);
}

bool call_search_saw_function(const struct call_search *search, uint32_t number)
{
	return number < search->match_room &&
	       search->matches[number] != MATCH_UNKNOWN;
}
