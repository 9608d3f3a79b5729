/* SPDX-License-Identifier: Apache-2.0
 *
 * call_search - the calls of a trace of which a person gave the function and
 * how long they took. All are counted; those that were asked for are kept: the
 * longest, or the first. Memory is bounded, however large or hostile the trace
 * is. One thread at a time.
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
#include "collector/read/time_range.h"
#include "collector/read/trace_read.h"

struct found_call {
	uint64_t begin_ns, end_ns; /* CLOCK_BOOTTIME */
	uint64_t took_ns; /* of these: trace_event_took() */
	const struct trace_track *track; /* of a thread or a context */
	uint64_t number; /* among those that matched, as they end in the file */
	uint32_t name; /* text */
	uint32_t depth; /* how many slices are around it */
	bool unfinished; /* the trace has no end of it: this is how far it goes
			  */
	struct call_arguments *arguments; /* NULL: none */
};

struct trace_index;

struct call_search {
	struct trace_reader *reader; /* has texts and tracks */
	struct trace_read_totals totals;
	struct trace_bounds bounds;
	struct found_call *calls; /* the longest first, or in order of time */
	size_t count;
	uint64_t matched; /* calls, kept or not */
	/* Of all calls of the function in the range, however long. */
	uint64_t seen, longest_ns;
	uint64_t shortest_ns; /* known if wish.min_ns is 0 */
	bool met_thread, met_function; /* anywhere in the trace */
	int err; /* how reading ended; 0: at the end of the file */

	/* Private. */
	struct call_wish wish;
	struct trace_index *index; /* by which it was read; NULL: none */
	size_t room;
	uint64_t argument_bytes; /* that are kept */
	uint8_t *matches; /* by number of a text */
	uint32_t match_room;
	struct thread_choice *choices; /* by number of a track */
	uint32_t choice_room;
};

/*
 * Reads the trace at @path. @wish->function and ->thread outlive *@out.
 * @progress may be NULL. Returns 0; the caller then owns *@out and ends it by
 * call_search_free(). What is cut or damaged is read as far as it goes:
 * out->err and out->totals say so. Or returns -errno of opening the file or for
 * want of memory; then *@out is as it was. Logs nothing.
 */
int call_search_run(const char *path, const struct call_wish *wish,
		    const struct read_progress *progress,
		    struct call_search **out);
/* Frees *@search, which may be NULL, and clears it. */
void call_search_free(struct call_search **search);

/* Whether text @number is the name of a call of the trace. */
bool call_search_saw_function(const struct call_search *search,
			      uint32_t number);

#endif
