/* SPDX-License-Identifier: Apache-2.0
 *
 * trace - the state of a trace while it is read, packet by packet: threads
 * by sequence, names, open slices, counts.
 */
#ifndef PERFREC_TESTS_TRACE_H
#define PERFREC_TESTS_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/tools/checker/pbread.h"
#include "tests/tools/checker/sched.h"
#include "tests/tools/checker/table.h"
#include "tests/tools/checker/verdict.h"

/* One trusted_packet_sequence_id. */
struct sequence {
	uint32_t id;
	uint64_t uuid; /* of its track, 0: none described yet */
	uint64_t parent_uuid; /* of its thread's track, if it is a context */
	uint32_t context; /* number in the thread; 0: it is the thread */
	int32_t pid;
	int64_t tid;
	uint32_t thread_name; /* number + 1; 0: none */
	uint64_t default_uuid, default_clock;
	bool cleared, state_valid;
	bool clock_set;
	uint64_t now_ns; /* BOOTTIME of the last event */
	uint64_t first_ns; /* of the first one; 0: none */
	uint64_t snapshot_ns;
	uint64_t packets;
	bool lost; /* something, and no trace_stats has named it since */

	uint32_t *names; /* by iid: number of the name + 1, 0: unknown */
	uint64_t *calls; /* by iid: begins */
	uint32_t iid_room;

	uint32_t *open; /* names of open slices, outermost first */
	uint32_t depth, open_room;
	uint64_t counted_ns; /* up to when its time is in trace->times */
};

/* A track that is no thread's or context's. */
struct own_track {
	uint64_t uuid, parent;
	uint64_t now_ns; /* of the last begin or end */
	uint32_t name; /* number + 1; 0: none */
	uint32_t details; /* the same: what else the descriptor says */
	uint32_t depth; /* open slices */
	enum own_kind { OWN_SLICES, OWN_COUNTER, OWN_STATES } kind;
	bool described, has_parent;
	bool waits; /* its slices are waits: see waits.c */
	bool suspended; /* a stack waits, not its thread */
	bool holds; /* its slices are times when the thread held a lock */
	bool has_values, has_states, has_slices;
};

/* A wait of a thread. */
struct wait {
	uint64_t from, to; /* to: 0 while it is open */
	uint64_t track, thread; /* uuid of its track, and of that above */
	uint32_t name; /* number + 1; 0: none */
	bool clipped; /* a cut has begun or ended it */
	bool suspended; /* of a stack, not of its thread */
	bool recorded; /* by the program: it may have run in between */
};

struct process {
	int32_t pid;
	uint32_t name; /* number + 1; 0: none */
	uint64_t start_ns; /* BOOTTIME; 0: not told */
};

struct totals {
	uint64_t packets, bundles, begins, ends, instants, samples;
	uint64_t threads, processes, max_depth, losses;
	uint64_t first_ns, last_ns; /* of events, BOOTTIME */
};

struct trace {
	struct verdict verdict;
	struct strings names;
	struct sequence *sequences;
	uint32_t sequence_count, sequence_room;
	struct table by_id; /* sequence id -> index + 1 */
	struct sequence *last; /* the sequence of the last packet */
	struct table uuids; /* -> sequence id of the thread, or 1 << 32 | pid */
	struct process *processes;
	uint32_t process_count, process_room;
	struct table pids; /* -> index + 1: described by a descriptor */
	struct table inline_calls; /* sequence index << 32 | name -> begins */
	struct own_track *tracks;
	uint32_t track_count, track_room;
	struct table track_by_uuid; /* -> index + 1 */
	struct table interned; /* see tracks.c */
	bool snapshot_seen;
	uint64_t snapshot_ns; /* BOOTTIME of the last global snapshot */
	uint64_t origin_ns; /* BOOTTIME of the first one */
	uint64_t kept_from_ns; /* the trace is complete from here; the part
				* before was dropped */
	struct totals totals;
	struct sched sched;
	struct wait *waits; /* in the order of the file */
	size_t wait_count, wait_room;
	/* The switches of an earlier reading of the same file: adds the self
	 * time of slices to times. NULL: does not. */
	const struct sched *known;
	struct sched_sums *times; /* by name */
	uint32_t times_room;
	FILE *dump; /* one line an event, or NULL */
	bool wants_text; /* for text_print() */
	struct text *text; /* its */
};

/* The sequence of the thread that @sequence is a context of, or @sequence
 * itself; NULL when that thread is not described (yet). */
const struct sequence *trace_thread(const struct trace *trace,
				    const struct sequence *sequence);

/* Reads the packets in @pb, the content of a bundle or a file. Returns the
 * bytes that were whole packets. Changes verdict.place. */
size_t trace_read(struct trace *trace, const void *data, size_t size);

enum trace_end_flags {
	TRACE_MAY_BE_OPEN = 1 << 0, /* slices without an end are fine */
	TRACE_IS_CUT = 1 << 1, /* what comes at a file's end may be missing */
};
/* An event, as it is in its packet. */
struct event {
	uint64_t type, iid, track;
	struct pb name, all; /* all: the whole TrackEvent */
	unsigned int values; /* of a counter: how many */
	uint64_t ns; /* BOOTTIME */
};

/* tracks.c: tracks of their own, and what belongs to annotations. */
void tracks_describe(struct trace *trace, struct pb track);
/* An event on such a track, which has a name or 0. False: it is of a wait. */
bool tracks_event(struct trace *trace, struct sequence *sequence,
		  const struct event *event, uint32_t name);
/* The fields of an event beside its name. */
void tracks_fields(struct trace *trace, const struct sequence *sequence,
		   const struct event *event);
/* An entry of InternedData: its field @kind. */
void tracks_intern(struct trace *trace, const struct sequence *sequence,
		   uint32_t kind, struct pb entry);
/* Where trace->interned has the text. */
uint64_t tracks_interned_key(const struct trace *trace,
			     const struct sequence *sequence, uint32_t kind,
			     uint64_t iid);
void tracks_end(struct trace *trace, bool may_be_open, bool cut);

/* waits.c: an event on a track of waits. */
void waits_event(struct trace *trace, struct own_track *own,
		 const struct event *event, uint32_t name);
/* After sched_end(). @cut: the file may lack its end. */
void waits_end(struct trace *trace, bool cut);
/* After waits_end(): a line for each. */
void waits_print(const struct trace *trace);

/* importer.c: after trace_end(): prints the trace as Perfetto's importer sees
 * it. */
void importer_print(const struct trace *trace);

/* stacks.c: an entry of InternedData that is a part of stacks; false: another
 * kind. */
bool stacks_intern(struct trace *trace, const struct sequence *sequence,
		   uint32_t kind, struct pb entry);
/* A PerfSample. */
void stacks_sample(struct trace *trace, const struct sequence *sequence,
		   struct pb sample);
/* A ProfilePacket. */
void stacks_heap(struct trace *trace, const struct sequence *sequence,
		 struct pb packet);

/* The rules that can be judged at the end only. */
void trace_end(struct trace *trace, enum trace_end_flags flags);
void trace_release(struct trace *trace);

#endif
