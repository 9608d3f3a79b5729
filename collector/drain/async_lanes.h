/* SPDX-License-Identifier: Apache-2.0
 *
 * async_lanes - the tracks of a process that belong to no thread: asynchronous
 * slices, and counters of the process that change in steps. See async_lanes.c.
 * One thread at a time.
 *
 * The budget of the recording pays for all memory. Ends of slices are always
 * kept, so a lane may exceed its share by some bytes.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_ASYNC_LANES_H
#define PERFREC_COLLECTOR_DRAIN_ASYNC_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/bytes.h"
#include "collector/drain/note.h"
#include "collector/drain/seq_names.h"
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
	const struct recording_setup *setup;
	struct tracks *tracks;
	pid_t pid;
	struct encoder encoder;
	uint32_t last_iid;
	struct seq_names names;
	bool started; /* the sequence has its first packet */
	struct bytes out, fields, interned;
	size_t kept; /* bytes that lanes took from the budget */
	uint64_t secret[2]; /* random, for lanes_bucket() */
	/* A hash table; the number of buckets is a power of two. */
	struct shared_track **track;
	uint32_t track_count, track_buckets;
	struct note_counts notes;
};

/* Initializes the lanes of process @pid. @recording and @tracks must outlive
 * @lanes. The caller ends it with lanes_release(). */
void lanes_init(struct async_lanes *lanes, struct recording *recording,
		struct tracks *tracks, pid_t pid);
void lanes_release(struct async_lanes *lanes);
/* Appends the written packets to the trace, without the kept ones. */
void lanes_flush(struct async_lanes *lanes);

/* Returns memory from the budget, all zero; NULL: no budget. The caller returns
 * it with the same number of @bytes. @memory may be NULL. */
void *lanes_take_memory(struct async_lanes *lanes, size_t bytes);
void lanes_give_memory(struct async_lanes *lanes, void *memory, size_t bytes);
/* Returns the bucket of a key of two numbers. @buckets is a power of two; with
 * twice as many, a key of bucket i is in bucket i or i + @buckets. The program
 * chooses the numbers, but does not know the secret. */
uint32_t lanes_bucket(const struct async_lanes *lanes, uint64_t a, uint64_t b,
		      uint32_t buckets);

/* Returns the track with this uuid, and adds it if necessary. Returns NULL
 * without budget. */
struct shared_track *lanes_track(struct async_lanes *lanes, uint64_t uuid);
/* Returns the first lane of @track without open slices. Returns NULL if there
 * are too many lanes, or without budget. */
struct lane *lanes_free(struct async_lanes *lanes, struct shared_track *track);
/* The same for a lane without writes after @ns. */
struct lane *lanes_quiet(struct async_lanes *lanes, struct shared_track *track,
			 uint64_t ns);
/* Returns true if @lane accepts a slice that began at @ns. */
bool lanes_is_quiet(const struct lane *lane, uint64_t ns);

/* The begin or end of a slice. */
struct lane_edge {
	const struct site *site; /* or NULL */
	const struct note *note; /* or NULL */
	const struct async_sums *sums; /* for an end; or NULL */
	const char *thread; /* name of the thread; or NULL */
};

/* Write a TYPE_SLICE_BEGIN to @lane, or the end of its innermost slice to @lane
 * of @track. @ns must not be before the lane's latest write. lanes_put_begin()
 * returns false without room. */
bool lanes_put_begin(struct async_lanes *lanes, struct lane *lane,
		     const struct lane_edge *edge, uint64_t ns);
void lanes_put_end(struct async_lanes *lanes, struct shared_track *track,
		   struct lane *lane, const struct lane_edge *edge,
		   uint64_t ns);

/* Adds @step, an int64_t or a double as @site says, to the counter on track
 * @uuid. Returns false without budget. */
bool lanes_step(struct async_lanes *lanes, uint64_t uuid,
		const struct site *site, uint64_t step, uint64_t ns);

#endif
