/* SPDX-License-Identifier: Apache-2.0
 *
 * request_choice - follows which threads of a trace work on one request
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

/* The caller sets @wanted of a struct of zeros. */
struct request_choice {
	const char *wanted; /* the trace id; the caller owns it */
	bool met; /* some thread worked on it */
	/* Private. */
	struct request_thread *threads; /* by number of a track */
	uint32_t room;
};

void request_choice_release(struct request_choice *choice);
/* Follows the next event of @reader, whose track has calls. Returns 0 or
 * -ENOMEM. */
int request_choice_take(struct request_choice *choice,
			const struct trace_reader *reader,
			const struct trace_event *event);
/* Returns true if the thread of @track works on the request now. */
bool request_choice_has(const struct request_choice *choice,
			const struct trace_reader *reader,
			const struct trace_track *track);

#endif
