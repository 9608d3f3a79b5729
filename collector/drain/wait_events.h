/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_events - the packets of a sequence of waits. Its clock is BOOTTIME: each
 * packet has its full time, so their order does not matter. One thread at a
 * time.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_WAIT_EVENTS_H
#define PERFREC_COLLECTOR_DRAIN_WAIT_EVENTS_H

#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/drain/seq_names.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"

struct recording;
struct thread_wait;
struct thread_waker;
struct trace_file;

struct wait_events {
	struct encoder encoder; /* out is set for each event */
	uint32_t last_iid;
	struct seq_names names;
	/* For the next event. The caller may add fields of a TrackEvent. */
	struct bytes fields, interned;
	struct bytes out;
};

/* Starts a new sequence of @recording, which must outlive @events. The caller
 * ends it with wait_events_release(). */
void wait_events_init(struct wait_events *events, struct recording *recording);
void wait_events_release(struct wait_events *events);
/* Adds an event at @ns on the track @uuid. @name may be NULL. */
void wait_events_put(struct wait_events *events, enum trace_event_type type,
		     uint64_t uuid, uint64_t ns, const char *name);
/* Adds @waker to the fields of the next event; nothing if it is unknown. */
void wait_events_put_waker(struct wait_events *events,
			   const struct thread_waker *waker);
/* Adds the slice of @wait on the track @uuid. */
void wait_events_put_wait(struct wait_events *events, uint64_t uuid,
			  const struct thread_wait *wait);
/* Submits the packets to @trace. */
void wait_events_flush(struct wait_events *events, struct trace_file *trace);

#endif
