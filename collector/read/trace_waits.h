/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_waits - the waits of a trace's threads, the locks that other threads held
 * meanwhile, and who ended each wait. All are read before they are used: their
 * order in the file says nothing. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_WAITS_H
#define PERFREC_COLLECTOR_READ_TRACE_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/read/trace_names.h"
#include "collector/read/trace_read.h"

enum wait_end {
	WAIT_END_UNKNOWN,
	WAIT_END_THREAD, /* another thread ended it */
	WAIT_END_OUTSIDE, /* a timer, a disk, the network */
	WAIT_END_TIMEOUT, /* its own time was over */
	WAIT_END_PROCESS, /* the process ended */
};

/* A wait of a thread. Texts are numbers of trace_waits.texts; 0: none. */
struct trace_wait {
	const struct trace_track *thread;
	uint64_t from_ns, to_ns; /* CLOCK_BOOTTIME */
	/* No wait, but the moment when the waker started the thread or process;
	 * from_ns is to_ns. */
	bool is_start;
	enum wait_end end;
	uint32_t object; /* name of the slice, such as "[pipe 5711]" */
	uint32_t lock; /* "mutex app+0x4080" */
	uint32_t stack; /* by wait_stacks_read(); 0: none */
	/* Of WAIT_END_THREAD. */
	uint32_t woken_by, woken_in; /* thread, function */
	int64_t woken_tid;
	const struct trace_track *waker; /* NULL: it has no track */
	uint64_t release_ns; /* 0: unknown; not after to_ns */
	/* own_waits_read() sets it: recording made the wait longer by this, or
	 * more. */
	uint64_t own_ns;
};

/* A thread held a lock while others waited for it. */
struct trace_hold {
	const struct trace_track *thread;
	uint64_t from_ns, to_ns;
	uint32_t lock;
	uint32_t in; /* function that released it */
	uint32_t by; /* 0: the thread; otherwise OUT_READERS, without ids */
	uint32_t stack; /* at its end, by wait_stacks_read(); 0: none */
};

struct trace_waits {
	struct trace_reader *reader; /* owns tracks */
	struct trace_read_totals totals;
	int err; /* of reading; 0: reached the end of the file */
	struct budget budget;
	struct trace_texts texts;
	struct trace_wait *waits; /* sorted by number of the thread, from_ns */
	struct trace_hold *holds; /* sorted by number of the thread, to_ns */
	size_t wait_count, hold_count;

	/* Private. */
	struct trace_index *index;
	size_t wait_room, hold_room;
	struct wait_flow *flows;
	size_t flow_count, flow_room;
};

/* Gets each event of the trace that is no wait, while it is read. Returns 0 or
 * -errno, which ends the reading. */
struct trace_waits_also {
	int (*take)(void *context, const struct trace_reader *reader,
		    const struct trace_event *event);
	void *context;
};

/* Reads the trace at @path. @also and @progress may be NULL. Returns 0, and the caller
 * frees *@out with trace_waits_free(). A truncated or damaged trace is read up to
 * the damage, as out->err and out->totals report. Returns -errno if the file
 * cannot be opened or memory is short; then *@out is unchanged. Logs nothing. */
int trace_waits_read(const char *path, const struct trace_waits_also *also,
		     const struct read_progress *progress,
		     struct trace_waits **out);
/* Frees *@waits, which may be NULL, and clears it. */
void trace_waits_free(struct trace_waits **waits);

/* Sorts waits->waits after its owner has added some. */
void trace_waits_sort(struct trace_waits *waits);

/* Returns the number of waits of @thread, a track, and sets *@first to the first
 * of them. */
size_t trace_waits_of(const struct trace_waits *waits,
		      const struct trace_track *thread,
		      const struct trace_wait **first);

#endif
