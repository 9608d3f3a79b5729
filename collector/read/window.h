/* SPDX-License-Identifier: Apache-2.0
 *
 * window - the events of a trace in a range of time, as trace_read.h reads
 * them: in the order of the file, each track in the order of time. Each track
 * has
 *
 *   - first the slices that were open at FROM, outermost first, with their
 *     original times;
 *   - then the events from FROM to before TO;
 *   - then, at TO, the ends of the slices that are still open.
 *
 * So each slice of the range has one begin and one end event. The last value of
 * each counter before FROM, and the last state, come after all else. Memory
 * grows only with names, tracks and open slices. One thread at a time.
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
#include "collector/read/trace_parts.h"
#include "collector/read/trace_read.h"

struct trace_index;
struct window;

struct window_choice {
	struct time_range range;
	/* Number or name of a thread: selects the tracks of this thread, its
	 * contexts and waits. NULL: all. */
	const char *thread;
	bool calls_only; /* only tracks of threads and contexts, no samples */
	/* With calls_only: the index of the trace, which outlives the window;
	 * NULL: the index beside the trace, if any. */
	const struct trace_index *index;
	enum parts_skips skips; /* with calls_only: skip chunks whose sums are
				 * in the index */
};

struct window_slice {
	uint64_t begin_ns; /* the true time; may be before FROM */
	uint64_t shown_ns; /* the later of begin_ns and FROM */
	uint64_t callee_ns; /* time in the range of finished or cut slices
			     * directly inside */
	uint32_t name, category, location; /* as in struct trace_event */
	uint64_t user; /* owned by the caller; starts as 0 */
	/* Arguments of a slice that began before FROM; the window owns them
	 * until the slice ends. NULL: none. */
	struct call_arguments *arguments;
};

struct window_event {
	/*
	 * The event of the trace with these changes: its slice is NULL. An end
	 * at TO has the time TO. Events from before FROM keep their times, but
	 * have no fields: no arguments, and no flows.
	 */
	struct trace_event event;
	bool before;
	bool after; /* an end event: the slice was open at TO */
	/* For TRACE_BEGIN and TRACE_END; until the next call. */
	struct window_slice *slice;
};

/* Opens the trace at @path. @choice->thread outlives the window. Returns the
 * values of trace_reader_open(). */
int window_open(const char *path, const struct window_choice *choice,
		struct window **out);
/* Frees *@window, which may be NULL, and clears it. */
void window_close(struct window **window);
/* Reads the next event. Returns the values of trace_reader_next(), or
 * -ENOMEM. */
int window_next(struct window *window, struct window_event *out);

/* Returns the index in use; NULL: none. */
const struct trace_index *window_index(const struct window *window);
/* Returns true if the window has the events of @track. */
bool window_gives_track(struct window *window, const struct trace_track *track);
/* Returns the reader below, for texts, tracks, totals and progress. */
struct trace_reader *window_trace(const struct window *window);
/* Returns true if the trace has the chosen thread, or if no thread was chosen.
 * Its events may be outside the range. Valid at the end only. */
bool window_met_thread(const struct window *window);

#endif
