/* SPDX-License-Identifier: Apache-2.0
 *
 * call_search - finds calls of a trace by function and duration. All matching
 * calls are counted; the longest or the first are kept. Memory is bounded for
 * any trace, even a hostile one. One thread at a time.
 *
 *   call_search_run(path, &wish, NULL, &search);
 *   for (size_t i = 0; i < search->count; i++)
 *           ... search->calls[i] ...
 *   call_search_free(&search);
 */
#ifndef PERFREC_COLLECTOR_READ_CALL_SEARCH_H
#define PERFREC_COLLECTOR_READ_CALL_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/call_arguments.h"
#include "collector/read/call_wish.h"
#include "collector/read/request_choice.h"
#include "collector/read/time_range.h"
#include "collector/read/trace_read.h"

struct found_call {
	uint64_t begin_ns, end_ns; /* CLOCK_BOOTTIME */
	uint64_t took_ns; /* trace_event_took() of begin and end */
	const struct trace_track *track; /* a thread or a context */
	uint64_t number; /* number among the matching calls, by end in the
			  * file */
	uint32_t name;
	uint32_t depth; /* number of slices around it */
	bool unfinished; /* the trace lacks its end; end_ns is the last known
			  * time */
	struct call_arguments *arguments; /* NULL: none */
};

struct trace_index;

struct call_search {
	struct trace_reader *reader; /* owns texts and tracks */
	struct trace_read_totals totals;
	struct trace_bounds bounds;
	struct found_call *calls; /* the longest first, or by time */
	size_t count;
	uint64_t matched; /* calls, kept or not */
	/* All calls of the function in the range, of any duration. */
	uint64_t seen, longest_ns;
	uint64_t shortest_ns; /* valid if wish.min_ns is 0 */
	/* Somewhere in the trace. */
	bool met_thread, met_function, met_request;
	uint32_t named; /* conditions whose argument a call has: a mask */
	int err; /* of reading; 0: reached the end of the file */

	/* Private. */
	struct call_wish wish;
	struct trace_index *index; /* the index in use; NULL: none */
	size_t room;
	uint64_t argument_bytes; /* of the kept arguments */
	uint8_t *matches; /* enum name_match by number of a text */
	uint32_t match_room;
	struct thread_choice *choices; /* by number of a track */
	uint32_t choice_room;
	struct request_choice request; /* in use if wish.trace_id is */
};

/*
 * Reads the trace at @path. @wish->function, ->thread and ->trace_id outlive
 * *@out.
 * @progress may be NULL. Returns 0, and the caller frees *@out with
 * call_search_free(). A truncated or damaged trace is read up to the damage, as
 * out->err and out->totals report. Returns -errno if the file cannot be opened
 * or memory is short; then *@out is unchanged. Logs nothing.
 */
int call_search_run(const char *path, const struct call_wish *wish,
		    const struct read_progress *progress,
		    struct call_search **out);
/* Frees *@search, which may be NULL, and clears it. */
void call_search_free(struct call_search **search);

/* Returns true if text @number is the name of a call that was read. */
bool call_search_saw_function(const struct call_search *search,
			      uint32_t number);

#endif
