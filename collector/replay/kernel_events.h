/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_events - the queue of kernel events of one thread, in the order of
 * time. The reader of the kernel's buffers appends and the thread's drain
 * worker takes, both under one lock of the caller.
 *
 * Some threads never record anything, so no worker asks for their events. Until
 * the first kernel_events_take(), the queue keeps only about two seconds of
 * events and adds older ones up in a sched_track. This loses nothing: before
 * its first record a thread is in no span.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_KERNEL_EVENTS_H
#define PERFREC_COLLECTOR_REPLAY_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/replay/kernel_event.h"
#include "collector/replay/sched_track.h"

struct budget;

/* Most events of a thread that may wait: a sixth of a second of two threads on
 * one CPU that wake each other as fast as possible. Beyond that, the time until
 * the next event with room is unknown. */
#define KERNEL_EVENTS_MAX 262144u

struct kernel_events {
	struct budget *budget; /* pays for the chunks */
	struct kernel_chunk *first, *last, *spare;
	uint32_t head; /* events of first already taken */
	uint32_t count;
	bool wanted;
	bool unwanted;
	bool full; /* events from full_ns on are lost */
	uint64_t full_ns;
	uint64_t last_ns;
	struct sched_track before; /* the sum of events not kept */
};

/* Sets @events to an empty queue. @budget must outlive it. The caller frees it
 * with kernel_events_release(). */
void kernel_events_init(struct kernel_events *events, struct budget *budget);
void kernel_events_release(struct kernel_events *events);

/* Appends @event. A time before the previous event is raised to that event's
 * time. Without room or memory the thread's state is unknown from then on. */
void kernel_events_push(struct kernel_events *events,
			const struct kernel_event *event);
/* Moves at most @room of the oldest events to @out and returns their number.
 * Only the first call sets *@before, to the sum of events that were not
 * kept. */
size_t kernel_events_take(struct kernel_events *events,
			  struct kernel_event *out, size_t room,
			  struct sched_track *before);
/* Returns the sum of all events so far. Only before the first
 * kernel_events_take(). */
struct sched_track kernel_events_sum(const struct kernel_events *events);
/* Frees the events and drops all later ones. */
void kernel_events_unwant(struct kernel_events *events);

#endif
