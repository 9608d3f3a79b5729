/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_queue - what has triggered a snapshot, on its way from any thread to
 * the main thread. One for each recording in flight mode.
 */
#ifndef PERFREC_COLLECTOR_FLIGHT_FLIGHT_QUEUE_H
#define PERFREC_COLLECTOR_FLIGHT_FLIGHT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FLIGHT_TEXT_BYTES 128

enum flight_cause {
	FLIGHT_CALL, /* of a function; it was slow */
	FLIGHT_ANNOTATION, /* an annotation of the program */
	FLIGHT_COUNTER, /* beyond its bound */
	FLIGHT_SIGNAL, /* that the program, or the collector, was sent */
	FLIGHT_ASKED, /* perfrec ctl snapshot */
	FLIGHT_CRASH, /* of the program */
	FLIGHT_CAUSES
};

struct flight_event {
	enum flight_cause cause;
	/* What was slow, CLOCK_BOOTTIME; equal: a moment. */
	uint64_t begin_ns, end_ns;
	pid_t pid, tid; /* 0: of none */
	int64_t value, bound; /* ns of a call; of a counter as it is */
	/* The function, annotation or counter; "": none. Whole UTF-8. */
	char what[FLIGHT_TEXT_BYTES];
	/* The trigger as the user wrote it; "": none. */
	char trigger[FLIGHT_TEXT_BYTES];
};

struct flight_queue;

/* The word for @cause in names of folders and in JSON: "call" and so on. A
 * constant. */
const char *flight_cause_name(enum flight_cause cause);

/* NULL: no memory. The caller ends it by flight_queue_free(). */
struct flight_queue *flight_queue_new(void);
/* Frees *@queue, which may be NULL, and sets it to NULL. Nobody uses it any
 * more. */
void flight_queue_free(struct flight_queue **queue);

/* Takes in @event, which is copied; one that ends before it begins is taken for
 * a moment. Any thread; short, never waits, allocates nothing: an event that
 * finds no room is told by its times only (flight_queue_rest()). */
void flight_queue_put(struct flight_queue *queue,
		      const struct flight_event *event);

/* The oldest event that was put and not taken yet. False: there is none. One
 * thread. */
bool flight_queue_take(struct flight_queue *queue, struct flight_event *out);

/* Whether there is nothing to take, but for what found no room. One thread. */
bool flight_queue_is_empty(const struct flight_queue *queue);

/* Events for which there was no room, since the last call. */
struct flight_rest {
	uint64_t begin_ns, end_ns; /* all of them lie between */
	uint64_t count; /* of them, or of some that are told next time */
};
/* False: there were none. One thread, as flight_queue_take(). */
bool flight_queue_rest(struct flight_queue *queue, struct flight_rest *out);

#endif
