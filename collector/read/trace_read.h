/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_read - the events of a trace that perfrec wrote, in the order of the
 * file. The events of one track are in the order of time; those of two tracks
 * are not. The file may come from anywhere, may be cut at any byte, and may be
 * of any size: it is read once, and memory grows with the numbers of names,
 * tracks and open slices only, up to a limit. One thread at a time.
 *
 *   trace_reader_open(path, &reader);
 *   while ((got = trace_reader_next(reader, &event)) > 0)
 *           if (event.kind == TRACE_END)
 *                   ... event.ns - event.slice->begin_ns ...
 *   trace_reader_close(&reader);
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_READ_H
#define PERFREC_COLLECTOR_READ_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/trace_packets.h"
#include "collector/read/trace_wire.h"
#include "shared/compiler.h"

struct trace_reader;
struct trace_parts;

enum trace_track_kind {
	TRACE_TRACK_OTHER, /* asynchronous slices, states, or not described */
	TRACE_TRACK_PROCESS,
	TRACE_TRACK_THREAD,
	TRACE_TRACK_CONTEXT, /* a stack that a thread made: its parent */
	TRACE_TRACK_COUNTER,
	TRACE_TRACK_WAITS, /* slices that are waits of a thread: its parent */
};

/* A track. It stays where it is until the reader is closed. What is known of it
 * may become more. */
struct trace_track {
	uint64_t uuid;
	uint32_t number; /* from 0 on, in the order in which they came */
	enum trace_track_kind kind;
	uint64_t parent; /* uuid; 0: none */
	struct trace_track *process; /* of a thread, or of the thread that this
				      * is a context of; NULL: not known */
	uint32_t name; /* text; of a process, thread, counter too */
	uint32_t command; /* text: of a process, its words with spaces */
	uint32_t unit; /* text: of a counter; 0: a plain number */
	int64_t multiplier; /* of a counter's values */
	bool shows_states;
	int64_t pid, tid; /* of a process, a thread; else 0 */
	uint64_t first_ns, last_ns; /* of its events; 0, 0: there were none */
	uint64_t from_ns; /* what was before is not given; 0: all is */
};

/* An open slice of a track. It stays where it is until the next call. */
struct trace_slice {
	uint64_t begin_ns;
	uint64_t callee_ns; /* time of the slices directly in it that ended */
	uint32_t name, category; /* texts */
	uint32_t location; /* see trace_reader_location() */
	uint64_t user; /* the caller's; 0 at the begin */
};

enum trace_event_kind {
	TRACE_BEGIN = 1, /* of a slice, as all have the numbers of TrackEvent */
	TRACE_END,
	TRACE_INSTANT,
	TRACE_COUNTER,
	TRACE_STATE,
	TRACE_SAMPLE, /* of CPU time */
};

struct trace_event {
	enum trace_event_kind kind;
	uint64_t ns; /* CLOCK_BOOTTIME */
	struct trace_track *track; /* of a sample: of its thread, or NULL */
	/* Of a begin and an end: the slice, and how many slices are around it.
	 * Else NULL and 0. */
	struct trace_slice *slice;
	uint32_t depth;
	bool unfinished; /* an end that the file does not have */
	bool left; /* an end that is not given: the reader goes on elsewhere;
		    * after trace_reader_open_parts() ns means nothing */
	bool seed; /* a begin: it was open where the reader began, or resumed
		    * (trace_jump.h) */
	uint32_t name, category; /* texts; of an end: those of its slice */
	uint32_t site; /* text: of a begin with a name of its own, the name that
			* its site has; else 0 */
	uint32_t location;
	/* Only ends: how long the program waited for the collector in the
	 * slice. No time of the call: see trace_event_took(). */
	uint64_t waited_ns;
	bool is_double;
	int64_t value; /* of a counter: as it is shown, multiplied */
	double real; /* the same if is_double */
	uint32_t stack; /* of a sample: see trace_reader_stack(); 0: none */
	bool in_kernel; /* a sample: the thread was in the kernel */
	uint64_t correlation; /* 0: none */
	/* For trace_argument_next() and trace_flow_next(). */
	struct wire fields;
	const struct trace_iids *argument_names;
};

/* How long the call took that began at @begin_ns, and that @end ends: without
 * what the program waited for the collector in it, as the summary, triggers and
 * the index have it. */
static inline uint64_t trace_event_took(const struct trace_event *end,
					uint64_t begin_ns)
{
	uint64_t ns = end->ns - begin_ns;

	return ns - MIN(ns, end->waited_ns);
}

/* Opens the trace at @path. Returns 0; the caller then owns *@out and ends it
 * by trace_reader_close(). Or returns -errno, -EBADMSG: it is no plain file;
 * then *@out is as it was. Logs nothing. */
int trace_reader_open(const char *path, struct trace_reader **out);
/* The same for the parts of a trace (trace_parts.h), which the reader closes,
 * also after an error. */
int trace_reader_open_parts(struct trace_parts *parts,
			    struct trace_reader **out);
/* Frees *@reader, which may be NULL, with all that it gave out, and clears it.
 */
void trace_reader_close(struct trace_reader **reader);

/* Has @progress told how much of the file is read, from now on. */
void trace_reader_set_progress(struct trace_reader *reader,
			       const struct read_progress *progress);

/*
 * The next event. Returns 1: it is *@out, whose pointers hold until the next
 * call; 0: there are no more; -EBADMSG: from here on the file is no trace; or
 * another -errno. Before it returns a value below 1 for the first time, it
 * gives the ends of all slices that are still open, which are unfinished, at
 * the time of the trace's last event.
 */
int trace_reader_next(struct trace_reader *reader, struct trace_event *out);

/* What the counter @track shows for a value in the trace. Values are int64_t
 * or, if @is_double, double, by their bits. */
uint64_t trace_scale_counter(const struct trace_track *track, bool is_double,
			     uint64_t bits);

/* What was read. */
struct trace_read_totals {
	uint64_t size; /* bytes of the file when it was opened */
	uint64_t at; /* bytes that were read */
	uint64_t cut; /* bytes of a packet that the file ends in */
	uint64_t packets;
	uint64_t begins, ends, unfinished; /* of slices that are no waits */
	uint64_t first_ns, last_ns; /* of all events but waits; 0, 0: none */
	/* What is wrong with the file: bundles that cannot be unpacked; events
	 * without a time or a track, ends without a begin, and the like;
	 * names, tracks, stacks for which there was no room. */
	uint64_t bad_bundles, bad_events, refused;
	/* What the file itself says. */
	uint64_t lost; /* packets; 0, too, if the file is cut */
};
struct trace_read_totals trace_reader_totals(const struct trace_reader *reader);

/* The text with @number, which lives as long as the reader. "": 0, or none. */
const char *trace_reader_text(const struct trace_reader *reader,
			      uint32_t number);
/* Returns how many texts there are: their numbers are 1 to this. */
uint32_t trace_reader_texts(const struct trace_reader *reader);
/* Track @number; NULL: there are fewer. */
struct trace_track *trace_reader_track(const struct trace_reader *reader,
				       uint32_t number);
/* The track with @uuid; NULL: there is none. */
struct trace_track *trace_reader_find_track(const struct trace_reader *reader,
					    uint64_t uuid);

/* A place in the source. */
struct trace_location {
	uint32_t file, function; /* texts */
	uint32_t line; /* 0: not known */
};
/* All zero: @number is 0, or none. */
struct trace_location trace_reader_location(const struct trace_reader *reader,
					    uint32_t number);

struct trace_frame {
	uint32_t function, module; /* texts; 0: not known */
	uint64_t address; /* in the module's file */
};
/* Sets *@out to the frames of stack @number, outermost first, and returns how
 * many there are. They are good until the next trace_reader_next(). */
uint32_t trace_reader_stack(struct trace_reader *reader, uint32_t number,
			    const struct trace_frame **out);

/* What perfrec has written about the whole trace (trace_attributes): its key,
 * and its text or number. Returns false: there are no more. */
bool trace_reader_attribute(const struct trace_reader *reader, uint32_t index,
			    const char **key, const char **text,
			    int64_t *number);

/* The ns below which calls were left out of the trace (perfrec record
 * --min-duration). 0: none were; or what says so has not been read yet, or is
 * lost. */
uint64_t trace_reader_min_duration(const struct trace_reader *reader);

enum trace_argument_kind {
	TRACE_ARGUMENT_BOOL,
	TRACE_ARGUMENT_UINT,
	TRACE_ARGUMENT_INT,
	TRACE_ARGUMENT_DOUBLE,
	TRACE_ARGUMENT_TEXT,
	TRACE_ARGUMENT_POINTER,
};

struct trace_argument {
	/* Any bytes, without a NUL at the end. */
	const char *name;
	size_t name_bytes;
	enum trace_argument_kind kind;
	uint64_t number; /* of a bool, uint, int (its bits), pointer */
	double real;
	const char *text;
	size_t text_bytes;
};

/* Takes the next argument off @event. False: there are no more. */
bool trace_argument_next(const struct trace_reader *reader,
			 struct trace_event *event, struct trace_argument *out);
/* Takes the next flow off a copy of event.fields. False: there are no more.
 * *@ends: the flow ends here. */
bool trace_flow_next(struct wire *fields, uint64_t *id, bool *ends);

#endif
