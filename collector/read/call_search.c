/* SPDX-License-Identifier: Apache-2.0
 *
 * Of each open call whose function matches, trace_slice.user has its arguments,
 * and in the lowest bit that it matches. The calls that are kept are a heap
 * with the one on top that gives way first.
 */
#include "collector/read/call_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/names/name_pattern.h"
#include "collector/read/call_chunks.h"
#include "collector/read/thread_choice.h"
#include "collector/read/trace_bounds.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_parts.h"
#include "shared/compiler.h"

#define IS_WANTED 1u /* in trace_slice.user */

enum name_match { MATCH_UNKNOWN, MATCH_YES, MATCH_NO };

/* --- which is kept --- */

/* Below 0: @a comes before @b in what is told. No two calls are equal. */
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

/* Among the first @count calls. */
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

/* The heap becomes a list, the first to be told first. */
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

/* Keeps @call, if it is among those that are to be kept. 0 or -ENOMEM. */
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

static bool does_match(const struct call_search *search, uint32_t name)
{
	const char *text = trace_reader_text(search->reader, name);
	const char *wanted = search->wish.function;

	return strcmp(text, wanted) == 0 ||
	       name_pattern_matches(wanted, text, "");
}

/* 1, 0 or -ENOMEM. */
static int is_wanted_function(struct call_search *search, uint32_t name)
{
	if (grow_array_zeroed(search->matches, search->match_room,
			      (size_t)name + 1))
		return -ENOMEM;
	if (search->matches[name] == MATCH_UNKNOWN)
		search->matches[name] =
			does_match(search, name) ? MATCH_YES : MATCH_NO;
	search->met_function |= search->matches[name] == MATCH_YES;
	return search->matches[name] == MATCH_YES;
}

/* 1, 0 or -ENOMEM. */
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

static int begin_call(struct call_search *search,
		      const struct trace_event *event)
{
	struct call_arguments *arguments = NULL;
	int wanted = is_wanted_function(search, event->name);
	int of_thread = is_of_thread(search, event);

	if (wanted < 0 || of_thread < 0)
		return -ENOMEM;
	if (!search->bounds.first_ns || event->ns < search->bounds.first_ns)
		search->bounds.first_ns = event->ns;
	if (!wanted || !of_thread)
		return 0;
	if (event->fields.at &&
	    search->argument_bytes < CALL_SEARCH_ARGUMENT_BYTES)
		arguments = call_arguments_of(search->reader, event);
	search->argument_bytes += arguments ? arguments->bytes : 0;
	event->slice->user = (uintptr_t)arguments | IS_WANTED;
	return 0;
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

static int end_call(struct call_search *search, const struct trace_event *event)
{
	uint64_t user = event->slice->user;
	const struct found_call call = {
		.begin_ns = event->slice->begin_ns,
		.end_ns = event->ns,
		.took_ns = trace_event_took(event, event->slice->begin_ns),
		.number = search->matched,
		.track = event->track,
		.name = event->name,
		.depth = event->depth,
		.unfinished = event->unfinished,
		.arguments =
			(struct call_arguments *)(uintptr_t)(user &
							     ~(uint64_t)
								     IS_WANTED),
	};

	if (!(user & IS_WANTED))
		return 0;
	if (!event->left && is_wanted_call(search, &call))
		return keep_call(search, &call);
	forget_arguments(search, call.arguments);
	return 0;
}

static int take_event(struct call_search *search,
		      const struct trace_event *event)
{
	if (!event->track || !track_has_calls(event->track))
		return 0;
	if (event->kind == TRACE_BEGIN)
		return begin_call(search, event);
	return event->kind == TRACE_END ? end_call(search, event) : 0;
}

/* Reads on to the end after an error: so each slice has its end, and gives back
 * what it has. */
static int read_events(struct call_search *search)
{
	struct trace_event event;
	int got, err = 0;

	while ((got = trace_reader_next(search->reader, &event)) > 0)
		if (!err)
			err = take_event(search, &event);
		else if (event.slice && event.kind == TRACE_END)
			free((void *)(uintptr_t)(event.slice->user &
						 ~(uint64_t)IS_WANTED));
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
	*out = search;
	return 0;
}

/* Reads with @reader, which it takes. 0 or -errno. */
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
	err = read_events(search);
	if (err)
		call_search_free(&search);
	else
		*out = search;
	return err;
}

/* Adds the calls of chunks that were left out. */
static void add_passed(struct call_search *search,
		       const struct call_chunks *chunks)
{
	search->seen += chunks->passed;
	search->matched += chunks->all ? chunks->passed : 0;
	search->longest_ns = MAX(search->longest_ns, chunks->longest_ns);
	search->met_function |= chunks->passed > 0;
}

/* Whether it is known what to say of calls that there are not. */
static bool says_enough(const struct call_search *search)
{
	return search->count ||
	       (search->seen && search->met_function && search->met_thread);
}

/* Reads those chunks only that may have such calls. 0 or -errno; *@out stays
 * NULL if there is no call of the function, or if something is not as it should
 * be. */
static int run_by_index(const char *path, const struct trace_index *index,
			const struct call_wish *wish,
			const struct read_progress *progress,
			struct call_search **out)
{
	struct call_chunks chunks;
	struct trace_reader *reader;
	struct trace_parts *parts;
	int err = call_chunks_take(&chunks, index, wish);

	if (!err)
		err = trace_parts_open_chunks(path, index, call_chunks_want,
					      &chunks, &parts);
	if (!err)
		err = trace_reader_open_parts(parts, &reader);
	if (!err)
		err = run_with(wish, reader, progress, out);
	if (!err)
		add_passed(*out, &chunks);
	call_chunks_release(&chunks);
	if (!err)
		err = trace_bounds_read(path, index, NULL, &(*out)->bounds);
	if (*out && (err || (*out)->err || !says_enough(*out)))
		call_search_free(out);
	return err;
}

/* Without an index; also if it is not known what to say of calls that there are
 * not. */
static int run_on_all(const char *path, const struct call_wish *wish,
		      const struct read_progress *progress,
		      struct call_search **out)
{
	struct trace_reader *reader;
	int err = trace_reader_open(path, &reader);

	return err ? err : run_with(wish, reader, progress, out);
}

int call_search_run(const char *path, const struct call_wish *wish,
		    const struct read_progress *progress,
		    struct call_search **out)
{
	struct call_search *search = NULL;
	struct trace_index *index = NULL;
	int err = 0;

	if (!trace_index_read_beside(path, &index) && index->has_rest)
		err = run_by_index(path, index, wish, progress, &search);
	if (search) {
		search->index = index;
		index = NULL;
	}
	trace_index_free(&index);
	if (!err && !search)
		err = run_on_all(path, wish, progress, &search);
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
	trace_reader_close(&search->reader);
	trace_index_free(&search->index);
	free(search);
}

bool call_search_saw_function(const struct call_search *search, uint32_t number)
{
	return number < search->match_room &&
	       search->matches[number] != MATCH_UNKNOWN;
}
