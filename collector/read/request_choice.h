/* SPDX-License-Identifier: Apache-2.0
 *
 * request_choice - follows which request each thread of a trace works on
 * (perfrec_set_trace_id()). A slice with an argument trace_id belongs to that
 * request, and so do the calls inside it; any other call belongs to the request
 * that its thread has set last. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_REQUEST_CHOICE_H
#define PERFREC_COLLECTOR_READ_REQUEST_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/trace_read.h"

#define REQUEST_ID_DIGITS 32

/* Ids of a request; "": none. */
struct request_ids {
	char trace[REQUEST_ID_DIGITS + 1], span[17];
};

/* The caller sets @wanted of a struct of zeros. */
struct request_choice {
	const char *wanted; /* the trace id; the caller owns it. NULL: none */
	bool met; /* some thread worked on it */
	/* Private. */
	struct request_thread *threads; /* by number of a track */
	uint32_t room;
};

/* Copies @text to @ids if @key is trace_id or span_id and @text is such an id.
 * Zeroes are no id. */
void request_ids_take(struct request_ids *ids, const char *key,
		      size_t key_bytes, const char *text, size_t bytes);

void request_choice_release(struct request_choice *choice);
/* Follows the next event of @reader, whose track has calls. Returns 0 or
 * -ENOMEM. */
int request_choice_take(struct request_choice *choice,
			const struct trace_reader *reader,
			const struct trace_event *event);
/* Returns true if @event is an instant that sets the request of its thread. */
bool request_choice_sets(const struct trace_reader *reader,
			 const struct trace_event *event);
/* As request_choice_take(), for an event of @kind at @depth of @track. @ids: the
 * ids of the slice, or the ids that the instant sets. */
int request_choice_follow(struct request_choice *choice,
			  const struct trace_reader *reader,
			  const struct trace_track *track, uint32_t depth,
			  enum trace_event_kind kind,
			  const struct request_ids *ids);
/* Returns the ids that the thread of @track works on now, valid until the next
 * event; "" without a request. */
const struct request_ids *request_choice_ids(
	const struct request_choice *choice, const struct trace_reader *reader,
	const struct trace_track *track);
/* Returns true if the thread of @track works on the wanted request now. */
bool request_choice_has(const struct request_choice *choice,
			const struct trace_reader *reader,
			const struct trace_track *track);

#endif
