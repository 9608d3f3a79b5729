/* SPDX-License-Identifier: Apache-2.0
 *
 * call_merge - the chosen events of all tracks of a trace in the order of time,
 * in bounded memory. A trace has those of one track in order, and those of two
 * tracks about so: a thread's come when its ring is drained. So many are held
 * back, and the earliest of them is the next. What is earlier than something
 * that was given already comes all the same, and is counted. One thread at a
 * time.
 */
#ifndef PERFREC_COLLECTOR_SHOW_CALL_MERGE_H
#define PERFREC_COLLECTOR_SHOW_CALL_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/show/call_read.h"

struct call_merge;

struct merged_event {
	enum trace_event_kind kind; /* a begin, an end, an instant or a state */
	bool leaf; /* a begin, and its end, of a call without calls */
	bool unfinished; /* the file does not have the end */
	uint64_t ns; /* as in the trace */
	uint64_t begin_ns, end_ns; /* of an end and of a leaf */
	uint64_t took_ns; /* the same: trace_event_took() */
	const struct trace_track *track;
	uint32_t name, category; /* texts */
	uint32_t depth; /* of an instant: how many calls are open */
	/* NULL: none; until the next call. */
	const struct call_arguments *arguments;
};

/* Merges what @reader gives, which stays the caller's and stays open. 0; the
 * caller ends *@out with call_merge_free(); or -ENOMEM. */
int call_merge_new(struct call_reader *reader, struct call_merge **out);
/* Frees *@merge, which may be NULL, and clears it. */
void call_merge_free(struct call_merge **merge);
/* 1: the next event is *@out; else as call_reader_next(), after all that was
 * read has been given. */
int call_merge_next(struct call_merge *merge, struct merged_event *out);
/* How many events came later than they happened. */
uint64_t call_merge_late(const struct call_merge *merge);

#endif
