/* SPDX-License-Identifier: Apache-2.0
 *
 * fibers - all stacks of one thread: its own stack, and one for each context
 * that it made with makecontext(). Each stack has a replay of its own, and so a
 * track and a calling-context tree. Here is decided which stack a record
 * belongs to, and what the records do that are about the thread as a whole. The
 * rules are in fibers.c. One thread at a time, as for replay.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_FIBERS_H
#define PERFREC_COLLECTOR_REPLAY_FIBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/names/map_log.h"
#include "collector/replay/replay.h"
#include "shared/record_ext.h"

/* So many contexts of a thread are told apart at a time. */
#define FIBERS_MAX 256

/* What fibers ask for. Called on the thread that calls fibers_run(). */
struct fibers_sink {
	/* Makes a track for context @number (1 and up) of the thread, which
	 * starts at @start_ns. Returns the sequence of the track. */
	uint32_t (*open_track)(void *context, uint32_t number,
			       uint64_t start_ns);
	/* What map_log_unloaded() says of the thread's process. */
	size_t (*unloaded)(void *context, uint32_t after, uint32_t upto,
			   struct address_range *out, size_t room);
	/* Takes an ALLOC or FREE, which the stack of @replay recorded. */
	void (*block)(void *context, struct replay *replay, uint64_t word,
		      uint64_t clock);
	/* Takes an extended record (record_ext.h). @cells is a copy of all its
	 * @count cells, valid during the call. 0, or -EBADMSG: the program
	 * wrote nonsense. */
	int (*extended)(void *context, struct replay *replay,
			const struct record *cells, size_t count);
	void *context;
};

struct fiber {
	struct replay *replay;
	uint32_t life; /* counts the contexts that ran here */
	bool idle; /* no context runs here */
	uint64_t link; /* uc_link of the context; 0: it has none, or a record
			* will tell its end */
	uint64_t resume; /* the point by which control left last */
	uint64_t guests; /* contexts that run here, as no fiber was free */
	uint64_t left_ns; /* when control left it; 0: it is there, or has never
			   * been */
};

struct fibers {
	struct fibers_sink sink;
	struct fiber *fiber; /* [0] is the thread's own stack */
	uint32_t count, room, current;
	bool full; /* no more fibers can be had */
	bool ends_told; /* the end of a context was recorded, so all are */
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

/* The fibers of the thread whose own stack is @main. @main stays the caller's,
 * and must outlive them. @sink is copied. 0 or -ENOMEM; after 0 the caller ends
 * them by fibers_release(). */
int fibers_init(struct fibers *fibers, const struct fibers_sink *sink,
		struct replay *main);
void fibers_release(struct fibers *fibers);

/*
 * Takes in the @count cells at @cells of the thread's ring, as replay_run()
 * does. *@done is how many cells were taken in: fewer than @count if the last
 * record is not whole yet. Returns 0; -EBADMSG at a record of no known kind;
 * -ENOMEM. After an error, what came before has been taken in.
 */
int fibers_run(struct fibers *fibers, const struct record *cells, size_t count,
	       uint64_t now_ns, size_t *done);
/* The stack that the thread runs on now. Never NULL. */
struct replay *fibers_current(const struct fibers *fibers);
/* Gives what was written so far to the sink. After every visit of a ring. */
void fibers_flush(struct fibers *fibers);
/* Whether a call is open whose begin may have to be written later; see
 * replay_set_min_duration(). */
bool fibers_hold_back(const struct fibers *fibers);
/* Does replay_write_old() for each stack. */
void fibers_write_old(struct fibers *fibers, uint64_t ns);
/* The thread has ended: does replay_finish() for each stack. The thread's own
 * stack is the current one after that. */
void fibers_finish(struct fibers *fibers, uint64_t ns);

/* Calls @visit for the replay of each stack, the thread's own stack first. */
typedef void fibers_visit(void *context, struct replay *replay);
void fibers_each(struct fibers *fibers, fibers_visit *visit, void *context);
/* The counts of all stacks, added up. */
struct replay_counts fibers_counts(const struct fibers *fibers);

#endif
