/* SPDX-License-Identifier: Apache-2.0
 *
 * call_read - selected calls of a trace, by duration, time range, thread,
 * function and depth. Like trace_read.h, it reads the file, or its parts, once
 * and in order; the events of a track are ordered by time. Other events pass
 * through. One thread at a time.
 *
 * The duration of a call is only known at its end. So its begin may come late:
 * just before its own end, or before the first visible call inside.
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
	uint64_t min_ns; /* skip shorter calls */
	/* Only calls that overlap it. to_ns 0: no end. */
	struct time_range range;
	/* Origin of times, CLOCK_BOOTTIME; 0: the earliest of the first
	 * events. */
	uint64_t origin_ns;
	uint32_t depth; /* skip calls at this depth or deeper; 0: all */
	const char *thread; /* number or name; NULL: all */
	/* Globs (name_pattern.h): only calls of matching functions, and calls
	 * inside them. None: all. */
	const char *const *functions;
	size_t function_count;
	bool calls_only; /* only begins and ends of calls of threads */
	bool instants; /* with calls_only: also instants of threads */
	bool sched; /* required for call_reader_sched(): reads the trace once
		     * more, for its switches */
	/* callee_ns has all callees. Otherwise it may lack callees outside of
	 * the range. */
	bool self_times;
};

struct call_event {
	/* As in the trace, without slices. A late begin and an end only have
	 * kind, ns, track, name, category, location and unfinished. */
	struct trace_event event;
	uint32_t depth; /* among the visible calls of the track */
	uint64_t begin_ns; /* of an end */
	uint64_t took_ns; /* of an end: trace_event_took() */
	uint64_t callee_ns; /* of an end: in all callees */
	/* Arguments of a late begin, and all arguments of a wait at its end;
	 * NULL: the event has them. The reader owns them until the next
	 * call. */
	const struct call_arguments *kept;
	size_t kept_at; /* next argument */
};

/* Opens the trace at @path. @choice and its pointers must stay valid until the
 * reader is closed. Returns as trace_reader_open(), or -ENOMEM. */
int call_reader_open(const char *path, const struct call_choice *choice,
		     struct call_reader **out);
/* *@reader may be NULL. */
void call_reader_close(struct call_reader **reader);
/* Returns the next event as trace_reader_next(), or -ENOMEM. */
int call_reader_next(struct call_reader *reader, struct call_event *out);
/* Reads the next argument of @event. Returns false after the last one. */
bool call_argument_next(const struct call_reader *reader,
			struct call_event *event, struct trace_argument *out);
/* Returns a copy of the arguments of @event for the caller to free. NULL: no
 * arguments or no memory. */
struct call_arguments *call_arguments_keep(const struct call_reader *reader,
					   struct call_event *event);

/* Returns the underlying reader, for texts, tracks and totals. */
struct trace_reader *call_reader_trace(const struct call_reader *reader);
/* Returns true if a range was chosen: the trace's totals may then lack other
 * events. */
bool call_reader_has_range(const struct call_reader *reader);
/* Returns the origin of times, CLOCK_BOOTTIME. */
uint64_t call_reader_origin(const struct call_reader *reader);
/* Return true if a track matched the selected thread, and if a function
 * matched. Without a selection they return true. */
bool call_reader_met_thread(const struct call_reader *reader);
bool call_reader_met_function(const struct call_reader *reader);
/* Returns true if text @number was compared with the selected functions, so it
 * is the name of a function. */
bool call_reader_saw_function(const struct call_reader *reader,
			      uint32_t number);

/* Returns true if the trace has switches and choice.sched was set. */
bool call_reader_has_sched(const struct call_reader *reader);
/* Returns the number of switches without memory. call_reader_sched() knows
 * nothing from the first of them on. */
uint64_t call_reader_refused_switches(const struct call_reader *reader);
/* Sets *@out to the times of @track's thread between @from and @to. @track may
 * be a context of the thread. Returns false without switches, without
 * choice.sched, or for a track without a thread; then *@out is unchanged. */
bool call_reader_sched(const struct call_reader *reader,
		       const struct trace_track *track, uint64_t from,
		       uint64_t to, struct trace_sched_sums *out);

/* Sets *@out to the stretches of @track's thread that overlap the selected
 * range, ordered by time; they are valid until the reader is closed. Returns
 * their number; 0 also if they are unknown. */
uint32_t call_reader_stretches(const struct call_reader *reader,
			       const struct trace_track *track,
			       const struct trace_stretch **out);

#endif
