/* SPDX-License-Identifier: Apache-2.0
 *
 * async_slices - annotations of a process that belong to no single thread:
 * slices that begin on one thread and end on another, and that threads enter
 * and leave meanwhile; and counters of the process that change in steps. The
 * events of all threads are sorted by clock. See async_slices.c and
 * async_stays.c.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_ASYNC_SLICES_H
#define PERFREC_COLLECTOR_DRAIN_ASYNC_SLICES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/drain/async_event.h"
#include "collector/drain/note.h"

struct async_slices;
struct async_feed;
struct order;
struct recording;
struct tracks;

struct async_counts {
	uint64_t orphan_ends; /* withheld: no slice was open */
	uint64_t odd_stays; /* ENTERs of slices that are not open, and LEAVEs of
			     * slices that the thread is not inside of */
	uint64_t unlisted; /* slices missing in the sums */
	uint64_t unended; /* ended with the process */
	uint64_t withheld; /* without memory */
	struct note_counts notes;
};

/* Makes the slices of process @pid with its @tracks. @recording and @tracks
 * must outlive *@out, which the caller frees with async_slices_free(). Any
 * thread. Returns 0 or -ENOMEM. */
int async_slices_new(struct recording *recording, struct tracks *tracks,
		     pid_t pid, struct async_slices **out);
/* Frees *@slices, which may be NULL. All streams must be closed. */
void async_slices_free(struct async_slices **slices);
/* Returns its order, for orders_add(). */
struct order *async_slices_order(struct async_slices *slices);

/* Opens the feed of one thread. The thread's drain worker makes this call and
 * the next three. Returns NULL without memory. */
struct async_feed *async_slices_open(struct async_slices *slices);
/* Feeds @event with the clock @clock of its record. Takes ownership of
 * event->note. Events without memory are counted. */
void async_slices_feed(struct async_feed *feed, uint64_t clock,
		       const struct async_event *event);
/* Called after each visit of the thread's ring. */
void async_slices_flush(struct async_feed *feed);
/* Ends the feed of a thread that ended at @ns, or @clock in the clock of
 * records. The thread leaves all slices; @cpu has its CPU time. Clears *@feed,
 * which may be NULL. */
void async_slices_close(struct async_feed **feed, uint64_t clock, uint64_t ns,
			const struct async_cpu *cpu);

/* Called after the end of all threads: ends the open slices at @end_ns, and
 * adds the sums to the recording. Waits for the consumer, so a drain worker
 * must not call it. */
void async_slices_finish(struct async_slices *slices, uint64_t end_ns);
struct async_counts async_slices_counts(struct async_slices *slices);

#endif
