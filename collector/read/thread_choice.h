/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_choice - which tracks of a trace are of the thread that a person
 * chose, by its number or its name. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_THREAD_CHOICE_H
#define PERFREC_COLLECTOR_READ_THREAD_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/trace_read.h"

/* What is known of one track. All zero: it was not looked at. */
struct thread_choice {
	uint32_t name; /* of the thread when it was looked at */
	bool looked_at, chosen;
};

/*
 * Whether @track is of the thread @wanted: its number, or its name. A thread
 * may get another name; then what is @open of the track (calls) goes on as it
 * was.
 * @choice is of this track.
 */
bool thread_choice_has(struct thread_choice *choice,
		       const struct trace_reader *reader, const char *wanted,
		       const struct trace_track *track, bool open);

/* Whether a thread is called @wanted, as far as @reader knows by now: it may
 * have no events. */
bool thread_choice_exists(const struct trace_reader *reader,
			  const char *wanted);

/* The thread that a context is of, or a track of waits; @track itself if it is
 * neither. */
const struct trace_track *call_track_thread(const struct trace_reader *reader,
					    const struct trace_track *track);
/* The number of a context in its thread, which is in the name of its track. */
uint32_t call_track_context(const struct trace_reader *reader,
			    const struct trace_track *context);
/* Whether the slices of @track are calls: it is of a thread or a context. */
static inline bool track_has_calls(const struct trace_track *track)
{
	return track->kind == TRACE_TRACK_THREAD ||
	       track->kind == TRACE_TRACK_CONTEXT;
}

#endif
