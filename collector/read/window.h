/* SPDX-License-Identifier: Apache-2.0
 *
 * window - what a trace has in a range of time. As trace_read.h, in the order
 * of the file, and each track in the order of time; but of each track
 *
 *   - the slices that were open at FROM come first, outermost first, with the
 *     time when they began;
 *   - then what happened from FROM on and before TO;
 *   - then the ends of the slices that were still open, at TO.
 *
 * So each slice of the range has one begin and one end. The last value before
 * FROM of each counter, and the last state, come after all else. Where the
 * events come from is hidden behind this interface. Memory grows with the
 * numbers of names, tracks and open slices only. One thread at a time.
 *
 *   window_open(path, &choice, &window);
 *   while ((got = window_next(window, &event)) > 0)
 *           ...
 *   window_close(&window);
 */
#ifndef PERFREC_COLLECTOR_READ_WINDOW_H
#define PERFREC_COLLECTOR_READ_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/call_arguments.h"
#include "collector/read/time_range.h"
#include "collector/read/trace_jump.h"
#include "collector/read/trace_read.h"

struct trace_index;
struct window;

struct window_choice {
	struct time_range range;
	/* The number of a thread, or its name: only tracks of this thread, its
	 * contexts and waits. NULL: all. */
	const char *thread;
	bool calls_only; /* only tracks of threads and contexts, no samples */
	/* With calls_only: the index of the trace, which outlives the window;
	 * NULL: that which lies beside it, if there is one. */
	const struct trace_index *index;
	enum jump_skips skips; /* chunks of which the index has sums are left
				* out: trace_jump.h; with calls_only only */
};

/* A slice of the range. */
struct window_slice {
	uint64_t begin_ns; /* the true one: may be before FROM */
	uint64_t shown_ns; /* the later one of begin_ns and FROM */
	uint64_t callee_ns; /* time in the range of the slices directly in it
			     * that ended, or were cut at TO */
	uint32_t name, category, location; /* as those of an event */
	uint64_t user; /* the caller's; 0 at the begin */
	/* Of a slice that began before FROM; the window has them until the
	 * slice ends. NULL: none. */
	struct call_arguments *arguments;
};

struct window_event {
	/*
	 * As it is in the trace, but: its slice is NULL. The ns of a begin that
	 * was before FROM, of a counter and of a state of before FROM are true
	 * ones; that of an end at TO is TO. What was before FROM has no fields:
	 * no arguments, and no flows.
	 */
	struct trace_event event;
	bool before; /* it was before FROM */
	bool after; /* an end: the slice was still open at TO */
	/* Of a begin and an end; until the next call. */
	struct window_slice *slice;
};

/* Opens the trace at @path. @choice->thread stays as it is until the window is
 * closed. As trace_reader_open() otherwise. */
int window_open(const char *path, const struct window_choice *choice,
		struct window **out);
/* Frees *@window, which may be NULL, and clears it. */
void window_close(struct window **window);
/* The next event, as trace_reader_next(); or -ENOMEM. */
int window_next(struct window *window, struct window_event *out);

/* The index by which it jumps; NULL: there is none. */
const struct trace_index *window_index(const struct window *window);
/* Whether what is on @track is given. */
bool window_gives_track(struct window *window, const struct trace_track *track);
/* The reader below: for texts, tracks, totals, progress. */
struct trace_reader *window_trace(const struct window *window);
/* Whether there is the thread that was chosen, with events in the range or
 * without. True if none was chosen. To be asked at the end. */
bool window_met_thread(const struct window *window);

#endif
