/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_read_inner - shared by the parts of the reader: trace_read.c has the
 * events, trace_tracks.c the tracks, trace_interned.c the interned data.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_READ_INNER_H
#define PERFREC_COLLECTOR_READ_TRACE_READ_INNER_H

#include "collector/base/budget.h"
#include "collector/base/by_id.h"
#include "collector/base/pool.h"
#include "collector/read/trace_names.h"
#include "collector/read/trace_packets.h"
#include "collector/read/trace_parts.h"
#include "collector/read/trace_read.h"

/* Deeper slices are only counted. perfrec draws 512. */
#define SLICES_MAX 1024

enum iid_kind {
	IID_NAME,
	IID_CATEGORY,
	IID_ARGUMENT, /* names of arguments */
	IID_LOCATION,
	IID_FUNCTION,
	IID_PATH,
	IID_MAPPING, /* the text of its path */
	IID_FRAME,
	IID_STACK,
	IID_KINDS
};

struct sequence {
	uint64_t id;
	uint64_t clock_ns; /* of the incremental clock */
	uint64_t clock_id; /* default of its packets */
	struct track *track; /* default of its events; or NULL */
	struct trace_iids iids[IID_KINDS];
};

/* A track with its open slices, outermost first. */
struct track {
	struct trace_track shown; /* first member: the pointers are
				   * interchangeable */
	struct trace_slice *slices;
	uint32_t slice_count, slice_room;
	uint64_t deeper; /* open slices beyond the limit */
};

struct stack {
	uint32_t first, count; /* in trace_reader.stack_frames */
};

struct attribute {
	uint32_t key, text; /* texts; text 0: number */
	int64_t number;
};

struct trace_reader {
	struct budget budget;
	struct trace_packets *packets;
	struct trace_texts texts;
	struct by_id sequences, tracks;
	struct sequence *last_sequence; /* of the previous packet */
	struct track *last_track; /* of the previous event */
	struct pool pids; /* struct pid_track */
	struct pool tids; /* struct tid_track */
	struct pool locations; /* struct trace_location */
	struct trace_frame *frames;
	uint32_t frame_count, frame_room;
	struct stack *stacks;
	uint32_t stack_count, stack_room;
	uint32_t *stack_frames; /* numbers of frames, for all stacks */
	uint32_t stack_frame_count, stack_frame_room;
	struct trace_frame *shown_stack; /* of trace_reader_stack() */
	uint32_t shown_room;
	struct attribute *attributes;
	uint32_t attribute_count, attribute_room;
	struct trace_read_totals totals;
	uint32_t end_track; /* at the end: the track whose slices end */
	bool ending;
	int err; /* the final return value */
	struct trace_parts *parts; /* NULL: reads from packets */
	struct trace_part part; /* if has_part, it waits for ends of slices */
	bool has_part;
	/* The track whose open slices inside the outermost "staying" end now,
	 * at left_ns; NULL: none. */
	struct track *leaving;
	uint64_t staying, left_ns;
	/* The track whose open slices the next parts begin again; "seeds" is
	 * the number of parts compared so far. NULL: none. */
	struct track *restarted;
	uint32_t seeds;
};

/* --- trace_read.c --- */

/* Counts a name, track or stack without room. */
void reader_refuse(struct trace_reader *reader);

/* --- trace_tracks.c --- */

void read_tracks_init(struct trace_reader *reader);
void read_tracks_release(struct trace_reader *reader);
void read_tracks_describe(struct trace_reader *reader, struct wire fields);
/* Returns the track with @uuid, and adds it if necessary. Returns NULL without
 * room. */
struct track *read_tracks_get(struct trace_reader *reader, uint64_t uuid);
/* Returns the thread @tid of process @pid; NULL: unknown. */
struct track *read_tracks_thread(const struct trace_reader *reader, int64_t pid,
				 int64_t tid);
/* Adds the tracks that @index describes, in the order of the file: values in the
 * index may be in front of descriptions. */
void read_tracks_number(struct trace_reader *reader,
			const struct trace_index *index);
/* Marks @track as a track with events of a thread. */
void read_tracks_are_calls(struct trace_reader *reader, struct track *track);
/* Begins a slice. Returns NULL if it is too deep, or without room; its end is
 * also skipped. */
struct trace_slice *read_tracks_push(struct trace_reader *reader,
				     struct track *track);
/* Ends the innermost open slice of @track. Returns NULL if there is none; or if
 * it was skipped, with *@deeper true. */
struct trace_slice *read_tracks_pop(struct track *track, bool *deeper);

/* --- trace_interned.c --- */

void interned_init(struct trace_reader *reader);
void interned_release(struct trace_reader *reader);
void interned_take(struct trace_reader *reader, struct sequence *sequence,
		   struct wire fields);
void interned_clear(struct trace_reader *reader, struct sequence *sequence);

#endif
