/* SPDX-License-Identifier: Apache-2.0
 *
 * async_slices - what the threads of a process tell about things that belong to
 * no thread: slices that begin on one thread and end on another, and counters
 * of the process that are told in steps. It is put into the order of clocks.
 * See async_slices.c.
 */
#ifndef PERFREC_COLLECTOR_NOTES_ASYNC_SLICES_H
#define PERFREC_COLLECTOR_NOTES_ASYNC_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/notes/note.h"

struct async_slices;
struct order;
struct order_stream;
struct recording;
struct site;
struct tracks;

enum async_type { ASYNC_BEGIN, ASYNC_END, ASYNC_STEP };

struct async_event {
	enum async_type type;
	uint64_t ns; /* BOOTTIME */
	const struct site *site; /* lives as long as the process */
	uint64_t track; /* uuid, of BEGIN and STEP */
	uint64_t key, handle; /* of the slice: END has those of its BEGIN */
	uint64_t step; /* int64_t or double, as the site says */
	uint64_t at_ns; /* of a STEP, instead of ns; 0: none */
	struct note *note; /* or NULL */
};

struct async_counts {
	uint64_t orphan_ends; /* withheld: nothing had begun */
	uint64_t unended; /* ended with the process */
	uint64_t withheld; /* no room for them */
	uint64_t written; /* packets */
	uint64_t early; /* times that order was given up for memory */
	struct note_counts notes;
};

/* Those of a process whose tracks are @tracks. @recording and @tracks must
 * outlive *@out, which the caller ends with async_slices_free(). Any thread. 0
 * or -ENOMEM. */
int async_slices_new(struct recording *recording, struct tracks *tracks,
		     struct async_slices **out);
/* All streams must be closed. Also for NULL. */
void async_slices_free(struct async_slices **slices);
/* Its order, so that the watermark can be told to it: orders_add(). */
struct order *async_slices_order(struct async_slices *slices);

/* A stream for one thread, whose drain worker feeds and closes it. NULL: out of
 * memory. */
struct order_stream *async_slices_open(struct async_slices *slices);
/* Feed @event, whose record has the clock @clock, to @stream. event->note
 * becomes the callee's. Events for which there is no memory are counted. The
 * drain worker of the stream. */
void async_slices_feed(struct async_slices *slices, struct order_stream *stream,
		       uint64_t clock, const struct async_event *event);

/* All threads have ended: end what is open at @end_ns. Waits for the consumer,
 * so no drain worker may call it. */
void async_slices_finish(struct async_slices *slices, uint64_t end_ns);
struct async_counts async_slices_counts(struct async_slices *slices);

#endif
