/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_choice - selects the tracks of the thread that the user chose by
 * number or name. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_THREAD_CHOICE_H
#define PERFREC_COLLECTOR_READ_THREAD_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/trace_read.h"

/* The cached decision for one track. All zero: no decision yet. */
struct thread_choice {
	uint32_t name; /* of the thread at the decision */
	bool looked_at, chosen;
};

/*
 * Returns true if @track belongs to the thread @wanted, a number or a name. A
 * thread may be renamed; then the decision changes only while the track has no
 * @open calls. @choice belongs to @track.
 */
bool thread_choice_has(struct thread_choice *choice,
		       const struct trace_reader *reader, const char *wanted,
		       const struct trace_track *track, bool open);

/* Returns true if a thread that @reader has read so far is called @wanted. It
 * may have no events. */
bool thread_choice_exists(const struct trace_reader *reader,
			  const char *wanted);

/* Returns the thread of a context or of a track of waits; otherwise @track
 * itself. */
const struct trace_track *call_track_thread(const struct trace_reader *reader,
					    const struct trace_track *track);
/* Returns the number of a context in its thread, read from the name of its
 * track. */
uint32_t call_track_context(const struct trace_reader *reader,
			    const struct trace_track *context);
/* Returns true if the slices of @track are calls: it is a thread or a
 * context. */
static inline bool track_has_calls(const struct trace_track *track)
{
	return track->kind == TRACE_TRACK_THREAD ||
	       track->kind == TRACE_TRACK_CONTEXT;
}

#endif
