/* SPDX-License-Identifier: Apache-2.0
 *
 * async_slices - what the threads of a process tell about things that belong to
 * no thread: slices that begin on one thread and end on another, and that
 * threads enter and leave meanwhile; and counters of the process that are told
 * in steps. It is put into the order of clocks. See async_slices.c and
 * async_stays.c.
 */
#ifndef PERFREC_COLLECTOR_NOTES_ASYNC_SLICES_H
#define PERFREC_COLLECTOR_NOTES_ASYNC_SLICES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/notes/async_event.h"
#include "collector/notes/note.h"

struct async_slices;
struct async_feed;
struct order;
struct recording;
struct tracks;

struct async_counts {
	uint64_t orphan_ends; /* withheld: nothing had begun */
	uint64_t odd_stays; /* a thread entered what was not open, or left what
			     * it was not inside of */
	uint64_t unlisted; /* slices that are in no sum */
	uint64_t unended; /* ended with the process */
	uint64_t withheld; /* no room for them */
	uint64_t written; /* packets */
	uint64_t early; /* times that order was given up for memory */
	struct note_counts notes;
};

/* Those of process @pid, whose tracks are @tracks. @recording and @tracks must
 * outlive *@out, which the caller ends with async_slices_free(). Any thread. 0
 * or -ENOMEM. */
int async_slices_new(struct recording *recording, struct tracks *tracks,
		     pid_t pid, struct async_slices **out);
/* All streams must be closed. Also for NULL. */
void async_slices_free(struct async_slices **slices);
/* Its order, so that the watermark can be told to it: orders_add(). */
struct order *async_slices_order(struct async_slices *slices);

/* Begins to take in what one thread tells, whose drain worker makes this call
 * and the next three. NULL: out of memory. */
struct async_feed *async_slices_open(struct async_slices *slices);
/* Feed @event, whose record has the clock @clock. event->note becomes the
 * callee's. Events for which there is no memory are counted. */
void async_slices_feed(struct async_feed *feed, uint64_t clock,
		       const struct async_event *event);
/* After each visit of the thread's ring. */
void async_slices_flush(struct async_feed *feed);
/* The thread has ended: it leaves all slices that it is inside of at @ns, which
 * is @clock on the clock of records, as @cpu says. Clears *@feed, which may be
 * NULL. */
void async_slices_close(struct async_feed **feed, uint64_t clock, uint64_t ns,
			const struct async_cpu *cpu);

/* All threads have ended: end what is open at @end_ns, and add sums to the
 * recording. Waits for the consumer, so no drain worker may call it. */
void async_slices_finish(struct async_slices *slices, uint64_t end_ns);
struct async_counts async_slices_counts(struct async_slices *slices);

#endif
