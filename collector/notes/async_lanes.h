/* SPDX-License-Identifier: Apache-2.0
 *
 * async_lanes - what a process shows on tracks that belong to no thread:
 * asynchronous slices, and counters of the process that are told in steps. See
 * async_lanes.c. One thread at a time.
 *
 * All memory is paid from the budget of the recording. Only the end of a slice
 * is kept in any case: its lane may then have some bytes more than it paid for.
 */
#ifndef PERFREC_COLLECTOR_NOTES_ASYNC_LANES_H
#define PERFREC_COLLECTOR_NOTES_ASYNC_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/bytes.h"
#include "collector/notes/note.h"
#include "collector/notes/seq_names.h"
#include "collector/profile/async_table.h"
#include "collector/trace/encode.h"

struct lane;
struct recording;
struct recording_setup;
struct shared_track;
struct site;
struct tracks;

struct async_lanes {
	struct recording *recording; /* outlives it */
	const struct recording_setup *setup; /* of the recording */
	struct tracks *tracks;
	pid_t pid;
	struct encoder encoder;
	uint32_t last_iid;
	struct seq_names names;
	bool started; /* the sequence has its first packet */
	struct bytes out, fields, interned;
	size_t kept; /* what lanes have paid for */
	/* A hash table; the number of buckets is a power of two. */
	struct shared_track **track;
	uint32_t track_count, track_buckets;
	uint64_t written; /* packets */
	struct note_counts notes;
};

/* Lanes of the tracks of process @pid. @recording and @tracks must outlive
 * them, which lanes_release() ends. */
void lanes_init(struct async_lanes *lanes, struct recording *recording,
		struct tracks *tracks, pid_t pid);
void lanes_release(struct async_lanes *lanes);
/* Gives what was written so far to the trace; what is kept is not. */
void lanes_flush(struct async_lanes *lanes);

/* Memory from the budget, all zero; NULL: there is none. It is given back with
 * the same number of @bytes. @memory may be NULL. */
void *lanes_take_memory(struct async_lanes *lanes, size_t bytes);
void lanes_give_memory(struct async_lanes *lanes, void *memory, size_t bytes);
/* The bucket of a key of two numbers, of @buckets, a power of two. */
uint32_t lanes_bucket(uint64_t a, uint64_t b, uint32_t buckets);

/* The track with this uuid, with or without lanes yet. NULL: no budget. */
struct shared_track *lanes_track(struct async_lanes *lanes, uint64_t uuid);
/* The first lane of @track on which nothing is open. NULL: there are too many,
 * or there is no budget. */
struct lane *lanes_free(struct async_lanes *lanes, struct shared_track *track);
/* The same, and nothing was written to it after @ns. */
struct lane *lanes_quiet(struct async_lanes *lanes, struct shared_track *track,
			 uint64_t ns);
/* Whether a slice that has begun at @ns can be written to @lane now. */
bool lanes_is_quiet(const struct lane *lane, uint64_t ns);

/* The begin or end of a slice. */
struct lane_edge {
	const struct site *site; /* NULL: none */
	const struct note *note; /* NULL: none */
	const struct async_sums *sums; /* told at an end; NULL: not */
	const char *thread; /* told at a begin; NULL: not */
};

/* Writes the begin of a slice to @lane, or, innermost first, the end of one to
 * @lane of @track, at @ns, which is not before what the lane has. False: there
 * is no room for it. */
bool lanes_put_begin(struct async_lanes *lanes, struct lane *lane,
		     const struct lane_edge *edge, uint64_t ns);
void lanes_put_end(struct async_lanes *lanes, struct shared_track *track,
		   struct lane *lane, const struct lane_edge *edge,
		   uint64_t ns);

/* The counter of @site, on track @uuid, goes up by @step, an int64_t or a
 * double, as the site says. False: no budget. */
bool lanes_step(struct async_lanes *lanes, uint64_t uuid,
		const struct site *site, uint64_t step, uint64_t ns);

#endif
