/* SPDX-License-Identifier: Apache-2.0
 *
 * call_read - the calls of a trace that were chosen: long enough, in a range
 * of time, of one thread, of some functions, not too deep. As trace_read.h,
 * read once and in the order of the file; the events of one track are in the
 * order of time. What is not a call passes through. One thread at a time.
 *
 * Whether a call is long enough is seen at its end. So its begin may come late:
 * just before its own end, or before the first call in it that is shown.
 */
#ifndef PERFREC_COLLECTOR_SHOW_CALL_READ_H
#define PERFREC_COLLECTOR_SHOW_CALL_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/read/call_arguments.h"
#include "collector/read/thread_choice.h"
#include "collector/read/time_range.h"
#include "collector/read/trace_read.h"
#include "collector/read/trace_sched.h"

struct call_reader;

/* All zero: every call. */
struct call_choice {
	uint64_t min_ns; /* calls that took less are left out */
	/* Only calls of which a part lies in this. Its to_ns 0: no end. */
	struct time_range range;
	/* From which times are counted, CLOCK_BOOTTIME; 0: the earliest of the
	 * first events. */
	uint64_t origin_ns;
	uint32_t depth; /* only calls nested less deep; 0: all */
	const char *thread; /* the number of a thread, or its name; NULL: all */
	/* Globs (name_pattern.h): only calls of functions that match, and what
	 * these call. None: all. */
	const char *const *functions;
	size_t function_count;
	bool calls_only; /* nothing but begins and ends of calls of threads */
	bool sched; /* call_reader_sched() will be called: the trace is read
		     * once more, for its switches */
};

struct call_event {
	/* As it is in the trace. Of a begin that comes late, and of an end,
	 * only kind, ns, track, name, category, location and unfinished hold.
	 * No slice is given. */
	struct trace_event event;
	uint32_t depth; /* among what is shown of the track */
	uint64_t begin_ns; /* of an end */
	uint64_t took_ns; /* of an end: trace_event_took() */
	uint64_t callee_ns; /* of an end: in calls, shown or not */
	/* Of a begin that comes late; NULL: the event has them. The reader
	 * has them until the next call. */
	const struct call_arguments *kept;
	size_t kept_at; /* the next of them */
};

/* Opens the trace at @path. @choice, and what it points to, stay as they are
 * until the reader is closed. As trace_reader_open() otherwise; or -ENOMEM. */
int call_reader_open(const char *path, const struct call_choice *choice,
		     struct call_reader **out);
/* Frees *@reader, which may be NULL, and clears it. */
void call_reader_close(struct call_reader **reader);
/* The next event, as trace_reader_next(); or -ENOMEM. */
int call_reader_next(struct call_reader *reader, struct call_event *out);
/* Takes the next argument off @event. False: there are no more. */
bool call_argument_next(const struct call_reader *reader,
			struct call_event *event, struct trace_argument *out);
/* A copy of the arguments of @event, which the caller frees. NULL: it has none,
 * or there is no memory. */
struct call_arguments *call_arguments_keep(const struct call_reader *reader,
					   struct call_event *event);

/* The reader below: for texts, tracks, totals. */
struct trace_reader *call_reader_trace(const struct call_reader *reader);
/* The time from which times are counted, CLOCK_BOOTTIME. */
uint64_t call_reader_origin(const struct call_reader *reader);
/* Whether some track was of the thread that was chosen, and some function
 * matched. True if none was chosen. */
bool call_reader_met_thread(const struct call_reader *reader);
bool call_reader_met_function(const struct call_reader *reader);
/* Whether text @number was compared with the functions that were chosen: it is
 * the name of a function. */
bool call_reader_saw_function(const struct call_reader *reader,
			      uint32_t number);

/* Whether the trace has switches, and choice.sched was set. */
bool call_reader_has_sched(const struct call_reader *reader);
/* Sets *@out to what the thread of @track, or of which @track is a context, did
 * between @from and @to. False: the trace has no switches, choice.sched was not
 * set, or @track is of no thread; then *@out is as it was. */
bool call_reader_sched(const struct call_reader *reader,
		       const struct trace_track *track, uint64_t from,
		       uint64_t to, struct trace_sched_sums *out);

/* The stretches of the thread of @track that lie in the range of the choice, at
 * least in part, in the order of time. Returns how many there are; 0: none, or
 * none is known. They live as long as @reader. */
uint32_t call_reader_stretches(const struct call_reader *reader,
			       const struct trace_track *track,
			       const struct trace_stretch **out);

#endif
