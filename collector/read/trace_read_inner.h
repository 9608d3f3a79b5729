/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_read_inner - what the parts of the reader share. trace_read.c has the
 * events, trace_tracks.c the tracks, trace_interned.c what numbers stand for.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_READ_INNER_H
#define PERFREC_COLLECTOR_READ_TRACE_READ_INNER_H

#include "collector/base/budget.h"
#include "collector/base/pool.h"
#include "collector/read/trace_names.h"
#include "collector/read/trace_packets.h"
#include "collector/read/trace_read.h"

/* Deeper slices are counted, not kept. perfrec draws 512. */
#define SLICES_MAX 1024

/* Tables of iids. */
enum iid_kind {
	IID_NAME,
	IID_CATEGORY,
	IID_ARGUMENT, /* names of arguments */
	IID_LOCATION,
	IID_FUNCTION,
	IID_PATH,
	IID_MAPPING, /* the number of its path's text */
	IID_FRAME,
	IID_STACK,
	IID_KINDS
};

/* A packet sequence. */
struct sequence {
	uint64_t id;
	uint64_t clock_ns; /* of the incremental clock */
	uint64_t clock_id; /* of its packets, if they do not say */
	struct track *track; /* of its events, if they do not say; or NULL */
	/* What lies before is left out; after a jump. */
	struct packet_place start;
	bool waits; /* no packet behind that has come yet */
	struct packet_place stop; /* if stops: what lies from here on, too */
	bool stops;
	struct trace_iids iids[IID_KINDS];
};

/* A track with its open slices, outermost first. */
struct track {
	struct trace_track shown; /* first: who has one has the other */
	struct trace_slice *slices;
	uint32_t slice_count, slice_room;
	uint64_t deeper; /* open slices that are not kept */
	uint64_t stop_ns; /* what is open at the end ends then; 0: at the end of
			   * the trace */
};

struct stack {
	uint32_t first, count; /* in trace_reader.stack_frames */
};

struct attribute {
	uint32_t key, text; /* texts; text 0: number */
	int64_t number;
};

/* A list of pointers, and where in it the one with some id is. */
struct by_id {
	struct pool ids; /* of uint64_t */
	void **items;
	uint32_t room;
};

struct trace_reader {
	struct budget budget;
	struct trace_packets *packets;
	struct trace_texts texts;
	struct by_id sequences, tracks;
	struct sequence *last_sequence; /* of the packet before */
	struct track *last_track; /* of the event before */
	struct pool pids; /* of struct pid_track */
	struct pool tids; /* of struct tid_track */
	struct pool locations; /* of struct trace_location */
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
	int err; /* at the end */
	struct trace_jump *jump; /* NULL: it reads all */
	struct trace_parts *parts; /* NULL: packets has what is read */
	struct track *leaving; /* its open slices are left; NULL: none is */
	uint64_t indexed; /* bytes of the file that its index tells of; 0: none
			   */
	bool seeding; /* slices that are open where it begins come first */
};

/* --- trace_read.c --- */

/* The item with @id; NULL: there is none. */
void *by_id_find(const struct by_id *list, uint64_t id);
/* Makes an item of @bytes, all zero, with @id, which has none yet. NULL: there
 * is no room, which is counted. */
void *by_id_add(struct trace_reader *reader, struct by_id *list, uint64_t id,
		size_t bytes);
/* Nothing more is refused without being counted. */
void reader_refuse(struct trace_reader *reader);

/* The sequence @id, made if there is none. NULL: there is no room. */
struct sequence *trace_reader_sequence(struct trace_reader *reader,
				       uint64_t id);
/* Takes in the fields of a packet that has no event. */
void trace_reader_take(struct trace_reader *reader, struct wire fields);
/* Adds to *@out, the begin of a slice on @sequence, what @fields, its packet,
 * says beside the time. */
void trace_reader_take_begin(struct trace_reader *reader,
			     struct sequence *sequence, struct wire fields,
			     struct trace_event *out);

/* After the end: it goes on with what trace_packets_only() has set. */
void trace_reader_restart(struct trace_reader *reader);

/* --- trace_jump.c --- */

/* Frees *@jump, which may be NULL, and clears it. */
void trace_jump_free(struct trace_jump **jump);
/* The begin of the next slice that is open where the reader begins. False:
 * there are no more. */
bool trace_jump_next(struct trace_reader *reader, struct trace_event *out);
/* Whether a second part follows: the end of the trace may be known only then.
 */
bool trace_jump_goes_on(const struct trace_reader *reader);

/* --- trace_tracks.c --- */

void read_tracks_init(struct trace_reader *reader);
void read_tracks_release(struct trace_reader *reader);
/* Takes a TrackDescriptor in. */
void read_tracks_describe(struct trace_reader *reader, struct wire fields);
/* The track with @uuid, which is made if there is none. NULL: no room. */
struct track *read_tracks_get(struct trace_reader *reader, uint64_t uuid);
/* The thread @tid of process @pid; NULL: not known. */
struct track *read_tracks_thread(const struct trace_reader *reader, int64_t pid,
				 int64_t tid);
/* A thread's events are on @track. */
void read_tracks_are_calls(struct trace_reader *reader, struct track *track);
/* Begins a slice. NULL: it is too deep, or there is no room; its end is left
 * out, too. */
struct trace_slice *read_tracks_push(struct trace_reader *reader,
				     struct track *track);
/* The innermost open slice of @track, which ends. NULL: there is none, or it is
 * one that was not kept: then *@deeper is true. */
struct trace_slice *read_tracks_pop(struct track *track, bool *deeper);

/* --- trace_interned.c --- */

void interned_init(struct trace_reader *reader);
void interned_release(struct trace_reader *reader);
/* Takes an InternedData of @sequence in. */
void interned_take(struct trace_reader *reader, struct sequence *sequence,
		   struct wire fields);
/* Forgets what @sequence has interned. */
void interned_clear(struct trace_reader *reader, struct sequence *sequence);

#endif
