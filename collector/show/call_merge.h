/* SPDX-License-Identifier: Apache-2.0
 *
 * call_merge - the selected events of all tracks in the order of time, in
 * bounded memory. A trace has the events of a track in order, but those of
 * several tracks only roughly: a thread's events are written when its ring is
 * drained. So the merge buffers many events and returns the earliest. An event
 * that is earlier than one already returned is still returned, and counted. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_SHOW_CALL_MERGE_H
#define PERFREC_COLLECTOR_SHOW_CALL_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/show/call_read.h"

struct call_merge;

struct merged_event {
	enum trace_event_kind kind; /* a begin, an end, an instant or a state */
	bool leaf; /* begin and end of a call without calls */
	bool unfinished; /* the end is missing in the file */
	uint64_t ns; /* as in the trace */
	uint64_t begin_ns, end_ns; /* of an end and of a leaf */
	uint64_t took_ns; /* likewise: trace_event_took() */
	const struct trace_track *track;
	uint32_t name, category; /* texts */
	uint32_t depth; /* of an instant: number of open calls */
	/* Both may be NULL, and are valid until the next call. */
	const struct call_arguments *arguments;
	const struct call_arguments *result; /* "ret" of an end or a leaf */
};

/* Merges the events of @reader. The caller keeps @reader, which must stay open.
 * Returns 0 or -ENOMEM. The caller frees *@out. */
int call_merge_new(struct call_reader *reader, struct call_merge **out);
/* *@merge may be NULL. */
void call_merge_free(struct call_merge **merge);
/* Returns 1 for the next event in *@out. After the last event returns as
 * call_reader_next(). */
int call_merge_next(struct call_merge *merge, struct merged_event *out);
/* Returns the number of events that were returned too late. */
uint64_t call_merge_late(const struct call_merge *merge);

#endif
