/* SPDX-License-Identifier: Apache-2.0
 *
 * fibers - all stacks of one thread: its own, and one for each context that it
 * made with makecontext(). Each has a replay, so a track and a tree, of its
 * own; here is decided which of them a record belongs to, and what the records
 * mean that are about the thread as a whole. See fibers.c.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_FIBERS_H
#define PERFREC_COLLECTOR_REPLAY_FIBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/names/map_log.h"
#include "collector/replay/replay.h"
#include "shared/record_ext.h"

/* Contexts of a thread that can be told apart at a time. */
#define FIBERS_MAX 256

/* Where fibers ask; called on the thread that runs them. */
struct fibers_sink {
	/* A track for context @number (from 1) of the thread, which starts at
	 * @start_ns; returns its sequence. */
	uint32_t (*open_track)(void *context, uint32_t number,
			       uint64_t start_ns);
	/* As map_log_unloaded(), of the thread's process. */
	size_t (*unloaded)(void *context, uint32_t after, uint32_t upto,
			   struct address_range *out, size_t room);
	/* An ALLOC or FREE, on the stack of @replay. */
	void (*block)(void *context, struct replay *replay, uint64_t word,
		      uint64_t clock);
	/* An extended record (record_ext.h): @cells is a copy of all @count
	 * cells of it. 0, or -EBADMSG: the program wrote nonsense. */
	int (*extended)(void *context, struct replay *replay,
			const struct record *cells, size_t count);
	void *context;
};

struct fiber {
	struct replay *replay;
	uint32_t life; /* counts the contexts that ran here */
	bool idle; /* none does */
	uint64_t link; /* uc_link of this one; 0: none, or its end is told */
	uint64_t resume; /* the point that control left by, last */
	uint64_t guests; /* contexts that run here for want of a fiber */
};

struct fibers {
	struct fibers_sink sink;
	struct fiber *fiber; /* [0] is the thread's own stack */
	uint32_t count, room, current;
	bool full; /* no more can be had */
	bool ends_told; /* a context's end was: so those of all are */
	struct point *points; /* hash table: sets of a few each */
	uint32_t sets;
	uint64_t uses; /* of points: tells which is the oldest */
	uint64_t made; /* what the last makecontext() was about */
	uint64_t now_ns; /* see replay_run() */
	uint64_t retire_credit;
	struct record *extended; /* the copy of one; NULL: none yet */
	uint64_t fork_parent; /* payload of a FORK record, or 0 */
	bool forking; /* there was a FORKING record */
	uint64_t mixed_contexts; /* switches that could not be followed */
	uint64_t skipped_maps; /* MAP records that could not be */
};

/* The fibers of the thread whose own stack is @main, which stays the caller's
 * and must outlive them. 0 or -ENOMEM. */
int fibers_init(struct fibers *fibers, const struct fibers_sink *sink,
		struct replay *main);
void fibers_release(struct fibers *fibers);

/* Take in @count cells of the thread's ring; see replay_run(). *@done is how
 * many it was: fewer, when the last record is not whole. 0, or -EBADMSG at one
 * of no known kind: what came before is taken in; or -ENOMEM. */
int fibers_run(struct fibers *fibers, const struct record *cells, size_t count,
	       uint64_t now_ns, size_t *done);
/* The stack that the thread runs on. */
struct replay *fibers_current(const struct fibers *fibers);
/* Give what is written so far to the sink: after every visit of a ring. */
void fibers_flush(struct fibers *fibers);
/* The thread has ended; see replay_finish(). It is on its own stack again. */
void fibers_finish(struct fibers *fibers, uint64_t ns);

/* Call @visit for the replay of each stack, the thread's own first. */
typedef void fibers_visit(void *context, struct replay *replay);
void fibers_each(struct fibers *fibers, fibers_visit *visit, void *context);
/* The counts of all of them, added up. */
struct replay_counts fibers_counts(const struct fibers *fibers);

#endif
