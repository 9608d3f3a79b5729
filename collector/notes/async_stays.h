/* SPDX-License-Identifier: Apache-2.0
 *
 * async_stays - the threads that are inside of asynchronous slices. See
 * async_stays.c. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_NOTES_ASYNC_STAYS_H
#define PERFREC_COLLECTOR_NOTES_ASYNC_STAYS_H

#include <stdint.h>

#include "collector/notes/async_event.h"
#include "collector/profile/async_table.h"

struct async_lanes;
struct lane;
struct shared_track;
struct stay;

struct open_slice {
	struct open_slice *next; /* the latest first */
	uint64_t key, handle;
	struct shared_track *track;
	struct lane *lane; /* of the track */
	uint64_t begin_ns;
	uint32_t site; /* its number in struct async_slices */
	uint32_t inside; /* stays */
	uint64_t inside_ns; /* since when inside is not 0 */
	struct async_sums sums; /* of what has ended in it */
	struct stay *stays;
};

/* A thread, as far as slices know it. All zero: it is inside of none. */
struct async_thread {
	struct stay *stays; /* the latest first */
	uint32_t count; /* of them */
};

struct stays_counts {
	uint64_t odd; /* ENTERs and LEAVEs that make no sense */
	uint64_t withheld; /* no room for them */
};

/* @event is an ENTER of @slice, or of what is not open (NULL). It may lose its
 * note. */
void stays_enter(struct async_lanes *lanes, struct open_slice *slice,
		 struct async_event *event, struct stays_counts *counts);
/* @event is a LEAVE. */
void stays_leave(struct async_lanes *lanes, const struct async_event *event,
		 struct stays_counts *counts);
/* The thread of @event has ended: it leaves all slices. */
void stays_gone(struct async_lanes *lanes, const struct async_event *event,
		struct stays_counts *counts);
/* @slice ends at event->ns: all threads leave it. */
void stays_end(struct async_lanes *lanes, struct open_slice *slice,
	       const struct async_event *event, struct stays_counts *counts);

#endif
