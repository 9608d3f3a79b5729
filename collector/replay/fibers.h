/* SPDX-License-Identifier: Apache-2.0
 *
 * fibers - all stacks of one thread: its own stack, and one for each context
 * that it made with makecontext(). Each stack has its own replay, and so a
 * track and a calling-context tree. This module finds the stack of each record,
 * and handles the records about the thread as a whole. The rules are in
 * fibers.c. One thread at a time, as for replay.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_FIBERS_H
#define PERFREC_COLLECTOR_REPLAY_FIBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/names/map_log.h"
#include "collector/replay/replay.h"
#include "shared/record_ext.h"

/* The most contexts of a thread that have their own fibers at a time. */
#define FIBERS_MAX 256

/* Callbacks, on the thread that calls fibers_run(). */
struct fibers_sink {
	/* Makes a track for context @number (1 and up) of the thread, which
	 * starts at @start_ns. Returns the sequence of the track. */
	uint32_t (*open_track)(void *context, uint32_t number,
			       uint64_t start_ns);
	/* Calls map_log_unloaded() for the thread's process. */
	size_t (*unloaded)(void *context, uint32_t after, uint32_t upto,
			   struct address_range *out, size_t room);
	/* Receives an ALLOC or FREE from the stack of @replay. */
	void (*block)(void *context, struct replay *replay, uint64_t word,
		      uint64_t clock);
	/* Receives an extended record (record_ext.h). @cells is a copy of its
	 * @count cells, valid during the call. Returns 0, or -EBADMSG if the
	 * program wrote nonsense. */
	int (*extended)(void *context, struct replay *replay,
			const struct record *cells, size_t count);
	void *context;
	/* Reports that the open calls on stack @number (0: the thread's own)
	 * did not run from @from_ns to @to_ns, because another stack ran. May
	 * be NULL. */
	void (*suspended)(void *context, uint32_t number, uint64_t from_ns,
			  uint64_t to_ns);
};

struct fiber {
	struct replay *replay;
	uint32_t life;
	bool idle;
	uint64_t link; /* uc_link of the context; 0: none, or its end is
		        * recorded */
	uint64_t resume; /* the point set when control left last */
	uint64_t guests; /* contexts that run here because no fiber was free */
	uint64_t left_ns; /* when control left it; 0: it runs, or has never
			   * run */
};

struct fibers {
	struct fibers_sink sink;
	struct fiber *fiber; /* [0] is the thread's own stack */
	uint32_t count, room, current;
	bool full;
	bool ends_told; /* an end of a context was recorded, so all are */
	struct point *points;
	uint32_t sets;
	uint64_t uses;
	uint64_t made; /* address of the last makecontext() */
	uint64_t now_ns;
	uint64_t retire_credit;
	struct record *extended;
	uint64_t fork_parent;
	bool forking;
	uint64_t mixed_contexts; /* switches that could not be followed */
	uint64_t skipped_maps; /* MAP records beyond the credit */
};

/* Creates the fibers of the thread whose own stack is @main, which stays the
 * caller's and must outlive them. Copies @sink. Returns 0 or -ENOMEM. The
 * caller ends them with fibers_release(). */
int fibers_init(struct fibers *fibers, const struct fibers_sink *sink,
		struct replay *main);
void fibers_release(struct fibers *fibers);

/* Reads the @count cells at @cells of the thread's ring, as replay_run() does.
 * Sets *@done to the number of cells that were read: fewer than @count if the
 * last record is incomplete. Returns 0, -EBADMSG at a record of unknown kind,
 * or -ENOMEM. After an error, all earlier records were handled. */
int fibers_run(struct fibers *fibers, const struct record *cells, size_t count,
	       uint64_t now_ns, size_t *done);
/* Returns the current stack of the thread, never NULL. */
struct replay *fibers_current(const struct fibers *fibers);
/* Hands written packets to the sink. Call it after each visit of a ring. */
void fibers_flush(struct fibers *fibers);
/* Returns true if a call is open whose begin may be written later; see
 * replay_set_min_duration(). */
bool fibers_hold_back(const struct fibers *fibers);
void fibers_write_old(struct fibers *fibers, uint64_t ns);
/* Ends the thread: calls replay_finish() for each stack. Afterwards the
 * thread's own stack is current. */
void fibers_finish(struct fibers *fibers, uint64_t ns);

/* Calls @visit for each replay, the thread's own stack first. */
typedef void fibers_visit(void *context, struct replay *replay);
void fibers_each(struct fibers *fibers, fibers_visit *visit, void *context);
struct replay_counts fibers_counts(const struct fibers *fibers);

#endif
