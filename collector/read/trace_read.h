/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_read - reads the events of a trace that perfrec wrote, in the order of
 * the file. Events of one track are sorted by time, events of two tracks are
 * not. The file may be hostile, truncated at any byte, and of any size: it is
 * read once, and memory grows only with names, tracks and open slices, up to a
 * limit. One thread at a time.
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
#include <string.h>

#include "collector/base/protobuf.h"
#include "collector/read/trace_packets.h"
#include "shared/compiler.h"

struct trace_reader;
struct index_sequence;
struct parts_choice;
struct trace_index;

enum trace_track_kind {
	TRACE_TRACK_OTHER, /* asynchronous slices, states, or not described */
	TRACE_TRACK_PROCESS,
	TRACE_TRACK_THREAD,
	TRACE_TRACK_CONTEXT, /* a stack that its parent, a thread, made */
	TRACE_TRACK_COUNTER,
	TRACE_TRACK_WAITS, /* waits of its parent, a thread */
};

/* A track. Its address is valid until the reader is closed. Later packets may
 * complete it. */
struct trace_track {
	uint64_t uuid;
	uint32_t number; /* from 0 on, by first appearance */
	enum trace_track_kind kind;
	uint64_t parent; /* uuid; 0: none */
	struct trace_track *process; /* of a thread or context; NULL: unknown */
	uint32_t name; /* text; also of a process, thread, counter */
	uint32_t command; /* text, of a process: words separated by spaces */
	uint32_t unit; /* text, of a counter; 0: a plain number */
	int64_t multiplier; /* of a counter's values */
	bool renamed; /* a thread that had another name before */
	bool shows_states;
	bool suspends; /* waits of a thread or context while its thread ran
		        * another stack */
	bool holds; /* slices are times when the thread held a lock */
	int64_t pid, tid; /* of a process or thread; else 0 */
	uint64_t first_ns, last_ns; /* of its events; 0, 0: none */
	uint64_t from_ns; /* earlier events are missing; 0: complete */
};

/* An open slice of a track. Its address is valid until the next call. */
struct trace_slice {
	uint64_t begin_ns;
	uint64_t callee_ns; /* time of finished slices directly inside */
	uint32_t name, category; /* texts */
	uint32_t location; /* see trace_reader_location() */
	uint64_t user; /* owned by the caller; starts as 0 */
};

enum trace_event_kind {
	TRACE_BEGIN = 1, /* of a slice; all numbers are those of TrackEvent */
	TRACE_END,
	TRACE_INSTANT,
	TRACE_COUNTER,
	TRACE_STATE,
	TRACE_SAMPLE, /* of CPU time */
};

struct trace_event {
	enum trace_event_kind kind;
	uint64_t ns; /* CLOCK_BOOTTIME */
	struct trace_track *track; /* of the thread of a sample, or NULL */
	/* TRACE_BEGIN, TRACE_END: the slice, and the number of slices around
	 * it. Otherwise NULL and 0. */
	struct trace_slice *slice;
	uint32_t depth;
	bool unfinished; /* an end that is not in the file */
	bool left; /* not a true end, which was skipped: it is not before ns */
	bool seed; /* TRACE_BEGIN: the slice was open where the reader went on
		    * behind skipped packets */
	uint32_t name, category; /* texts; TRACE_END: of its slice */
	uint32_t site; /* text: the site's name, if a TRACE_BEGIN has another
		        * name; otherwise 0 */
	uint32_t location;
	/* TRACE_END: the time that the program waited for the collector inside
	 * the slice. It is not time of the call: see trace_event_took(). */
	uint64_t waited_ns;
	bool is_double;
	int64_t value; /* of a counter, after multiplication */
	double real; /* the value if is_double */
	uint32_t stack; /* of a sample: see trace_reader_stack(); 0: none */
	bool in_kernel; /* of a sample: the thread was in the kernel */
	uint64_t correlation; /* 0: none */
	/* For trace_argument_next() and trace_flow_next(). */
	struct wire fields;
	const struct trace_iids *argument_names;
};

/* Returns the duration of the call from @begin_ns to @end, without the time
 * that the program waited for the collector. The summary, triggers and the
 * index use the same durations. */
static inline uint64_t trace_event_took(const struct trace_event *end,
					uint64_t begin_ns)
{
	uint64_t ns = end->ns - begin_ns;

	return ns - MIN(ns, end->waited_ns);
}

/* Opens the trace at @path. Returns 0, and the caller ends *@out with
 * trace_reader_close(). Otherwise returns -errno (-EBADMSG: not a plain file),
 * and *@out is unchanged. Logs nothing. */
int trace_reader_open(const char *path, struct trace_reader **out);
/* The same for the parts of the trace that @choice selects (trace_parts.h). Reads
 * the whole trace if @index is NULL or lacks what the choice needs. @index and
 * choice->ranges outlive *@out. */
int trace_reader_open_parts(const char *path, const struct trace_index *index,
			    const struct parts_choice *choice,
			    struct trace_reader **out);
/* Frees *@reader, which may be NULL, with all its pointers, and clears it. */
void trace_reader_close(struct trace_reader **reader);

/* Calls @progress while the file is read, from now on. */
void trace_reader_set_progress(struct trace_reader *reader,
			       const struct read_progress *progress);

/*
 * Reads the next event. Returns 1, and the pointers in *@out are valid until
 * the next call; 0: the end; -EBADMSG: the rest of the file is not a trace; or
 * another -errno. Before the first value below 1, it returns the ends of all
 * open slices, which are unfinished, at the time of the trace's last event.
 */
int trace_reader_next(struct trace_reader *reader, struct trace_event *out);

/* Returns the shown value of the counter @track for a raw value. Values are
 * int64_t or, if @is_double, the bits of a double. */
uint64_t trace_scale_counter(const struct trace_track *track, bool is_double,
			     uint64_t bits);

struct trace_read_totals {
	uint64_t size; /* of the file when it was opened */
	uint64_t at; /* bytes that were read */
	uint64_t cut; /* bytes of an incomplete packet at the end */
	uint64_t packets;
	uint64_t begins, ends, unfinished; /* of slices except waits */
	uint64_t first_ns, last_ns; /* of all events except waits; 0, 0: none */
	/* Faults of the file: bundles that cannot be unpacked; events without a
	 * time or a track, ends of unknown slices, and others; names, tracks,
	 * stacks without room. */
	uint64_t bad_bundles, bad_events, refused;
	uint64_t lost; /* packets, reported by the file; also 0 if it is
		        * truncated */
};
struct trace_read_totals trace_reader_totals(const struct trace_reader *reader);

/* Returns the text with @number, which is valid until the reader is closed; ""
 * for 0 or an unknown number. */
const char *trace_reader_text(const struct trace_reader *reader,
			      uint32_t number);
/* Returns the number of texts; the last text has this number. */
uint32_t trace_reader_texts(const struct trace_reader *reader);
/* Returns track @number, or NULL if there are fewer. */
struct trace_track *trace_reader_track(const struct trace_reader *reader,
				       uint32_t number);
/* Returns the track with @uuid, or NULL. */
struct trace_track *trace_reader_find_track(const struct trace_reader *reader,
					    uint64_t uuid);

/* A place in the source. */
struct trace_location {
	uint32_t file, function; /* texts */
	uint32_t line; /* 0: unknown */
};
/* All zero if @number is 0 or unknown. */
struct trace_location trace_reader_location(const struct trace_reader *reader,
					    uint32_t number);

struct trace_frame {
	uint32_t function, module; /* texts; 0: unknown */
	uint64_t address; /* in the module's file */
};
/* Sets *@out to the frames of stack @number, outermost first. Returns their
 * number. They are valid until the next trace_reader_next(). */
uint32_t trace_reader_stack(struct trace_reader *reader, uint32_t number,
			    const struct trace_frame **out);

/* Reads attribute @index of the whole trace (trace_attributes): its key, and
 * its text or number. Returns false at the end. */
bool trace_reader_attribute(const struct trace_reader *reader, uint32_t index,
			    const char **key, const char **text,
			    int64_t *number);

/* Returns the limit in ns below which calls are missing in the trace (perfrec
 * record --min-duration). Returns 0 without a limit, or if the attribute is
 * lost or not read yet. */
uint64_t trace_reader_min_duration(const struct trace_reader *reader);

/* Chunks that are not read (PARTS_SKIP_CHUNKS). */
struct skipped_chunks {
	const struct index_sequence *sequence;
	uint32_t first, last; /* places in sequence->chunks */
	const struct trace_track *track; /* of the sequence */
};

/* Sets *@out to the skipped chunks of sequence @number of the index. Returns
 * false if there are none. */
bool trace_reader_skipped(struct trace_reader *reader, uint32_t number,
			  struct skipped_chunks *out);
/* Returns the text of @iid on the sequence @id; 0: unknown. iid 0 stands for
 * INDEX_WAIT_NAME, as in nodes of the index. */
uint32_t trace_reader_name(struct trace_reader *reader, uint32_t id,
			   uint32_t iid);
/* Returns true if @iid belongs to a site, which has a category or a location,
 * and not to a function. */
bool trace_reader_is_site(struct trace_reader *reader, uint32_t id,
			  uint32_t iid);

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

/* Reads the next argument of @event, and advances event->fields. Returns false
 * at the end. */
bool trace_argument_next(const struct trace_reader *reader,
			 struct trace_event *event, struct trace_argument *out);
static inline bool trace_argument_is(const struct trace_argument *argument,
				     const char *name)
{
	return argument->name_bytes == strlen(name) &&
	       !memcmp(argument->name, name, argument->name_bytes);
}

/* Returns true if @argument is the text @text. */
static inline bool trace_argument_has_text(
	const struct trace_argument *argument, const char *text)
{
	return argument->kind == TRACE_ARGUMENT_TEXT &&
	       argument->text_bytes == strlen(text) &&
	       !memcmp(argument->text, text, argument->text_bytes);
}

/* Reads the next flow of a copy of event.fields. Sets *@ends if the flow ends
 * here. Returns false at the end. */
bool trace_flow_next(struct wire *fields, uint64_t *id, bool *ends);

#endif
