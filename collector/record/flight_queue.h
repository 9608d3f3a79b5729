/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_queue - events that triggered a snapshot, from any thread to the main
 * thread. Each recording in flight mode has one queue.
 */
#ifndef PERFREC_COLLECTOR_RECORD_FLIGHT_QUEUE_H
#define PERFREC_COLLECTOR_RECORD_FLIGHT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FLIGHT_TEXT_BYTES 128

enum flight_cause {
	FLIGHT_CALL,
	FLIGHT_ANNOTATION,
	FLIGHT_COUNTER,
	FLIGHT_SIGNAL, /* the program or the collector received a signal */
	FLIGHT_ASKED, /* perfrec ctl snapshot */
	FLIGHT_CRASH,
	FLIGHT_CAUSES
};

struct flight_event {
	enum flight_cause cause;
	/* The span of the event, CLOCK_BOOTTIME. Equal: an instant. */
	uint64_t begin_ns, end_ns;
	pid_t pid, tid; /* 0: unknown */
	int64_t value, bound; /* duration of a call in ns; else the counter's
			       * value */
	/* The function, annotation or counter; "": none. Valid UTF-8. */
	char what[FLIGHT_TEXT_BYTES];
	char trigger[FLIGHT_TEXT_BYTES];
};

struct flight_queue;

/* Returns the constant word for @cause in folder names and JSON, such as
 * "call". */
const char *flight_cause_name(enum flight_cause cause);

struct flight_queue *flight_queue_new(void);
void flight_queue_free(struct flight_queue **queue);

/* Copies @event into the queue. end_ns is raised to begin_ns. Any thread; never
 * waits or allocates. If the queue is full, only the times are kept for
 * flight_queue_rest(). */
void flight_queue_put(struct flight_queue *queue,
		      const struct flight_event *event);

/* Removes the oldest event. Returns false if the queue is empty. Consumer
 * thread only. */
bool flight_queue_take(struct flight_queue *queue, struct flight_event *out);

bool flight_queue_is_empty(const struct flight_queue *queue);

/* Events without room in the queue since the last call. */
struct flight_rest {
	uint64_t begin_ns, end_ns; /* cover all of these events */
	uint64_t count; /* may include events that the next call reports again
			 * by time */
};
/* Returns false if no event was lost since the last call. Consumer thread
 * only. */
bool flight_queue_rest(struct flight_queue *queue, struct flight_rest *out);

#endif
