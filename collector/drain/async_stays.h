/* SPDX-License-Identifier: Apache-2.0
 *
 * async_stays - the stays of threads in asynchronous slices. See async_stays.c.
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_ASYNC_STAYS_H
#define PERFREC_COLLECTOR_DRAIN_ASYNC_STAYS_H

#include <stdint.h>

#include "collector/drain/async_event.h"
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
	uint32_t site; /* number in struct async_slices */
	uint32_t inside; /* current stays */
	uint64_t inside_ns; /* time since inside is not 0 */
	struct async_sums sums; /* of its finished stays */
	struct stay *stays;
};

/* A thread inside of slices. All zero: none. */
struct async_thread {
	struct stay *stays; /* the latest first */
	uint32_t count;
};

struct stays_counts {
	uint64_t odd; /* ENTERs without an open slice, LEAVEs without a stay */
	uint64_t withheld; /* without memory */
};

/* Processes @event, an ENTER of @slice; NULL: the slice is not open. May take
 * over event->note. */
void stays_enter(struct async_lanes *lanes, struct open_slice *slice,
		 struct async_event *event, struct stays_counts *counts);
/* Processes @event, a LEAVE. */
void stays_leave(struct async_lanes *lanes, const struct async_event *event,
		 struct stays_counts *counts);
/* Ends all stays of the thread of @event, which has ended. */
void stays_gone(struct async_lanes *lanes, const struct async_event *event,
		struct stays_counts *counts);
/* Ends all stays in @slice, which ends at event->ns. */
void stays_end(struct async_lanes *lanes, struct open_slice *slice,
	       const struct async_event *event, struct stays_counts *counts);

#endif
