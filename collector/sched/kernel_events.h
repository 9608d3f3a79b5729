/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_events - what the kernel has told of one thread and nobody has taken
 * yet, in the order of time. The reader of the kernel's buffers appends, the
 * drain worker of the thread takes, both under one lock of the caller's.
 *
 * A thread of which nobody has asked yet may never record anything. Of it only
 * the events of the last two seconds are kept, as far as there is room; older
 * ones are added up in a sched_track: before its first record a thread was in
 * no span, so nothing of them is missed.
 */
#ifndef PERFREC_COLLECTOR_SCHED_KERNEL_EVENTS_H
#define PERFREC_COLLECTOR_SCHED_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sched/kernel_event.h"
#include "collector/sched/sched_track.h"

struct budget;

/* The events of a thread that may wait for its drain worker: those of a sixth
 * of a second, if two threads of one CPU wake each other as fast as they can.
 * If there are more, the time until the next that finds room is unknown. */
#define KERNEL_EVENTS_MAX 262144u

struct kernel_events {
	struct budget *budget; /* pays for what waits */
	struct kernel_chunk *first, *last, *spare;
	uint32_t head; /* of first: what was taken */
	uint32_t count; /* of all that wait */
	bool wanted; /* somebody has asked */
	bool unwanted; /* nobody will ever ask */
	bool full; /* events are lost, from full_ns on */
	uint64_t full_ns;
	uint64_t last_ns; /* of the last event */
	struct sched_track before; /* all events that were not kept */
};

/* Makes @events empty. @budget must outlive it. The caller ends it with
 * kernel_events_release(). */
void kernel_events_init(struct kernel_events *events, struct budget *budget);
void kernel_events_release(struct kernel_events *events);

/* Appends @event. Its time becomes that of the event before, if that was later.
 * Without room, or memory, the thread's state is unknown from then on. */
void kernel_events_push(struct kernel_events *events,
			const struct kernel_event *event);
/* Moves the oldest events to @out, at most @room. Returns how many. The first
 * call says that somebody wants them: sets *@before to the sum of those that
 * were not kept; later calls leave it alone. */
size_t kernel_events_take(struct kernel_events *events,
			  struct kernel_event *out, size_t room,
			  struct sched_track *before);
/* The sum of all events so far, of which nobody has taken any. */
struct sched_track kernel_events_sum(const struct kernel_events *events);
/* Nobody will take any more: none are kept. */
void kernel_events_unwant(struct kernel_events *events);

#endif
