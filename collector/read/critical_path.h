/* SPDX-License-Identifier: Apache-2.0
 *
 * critical_path - the chain of work that determined the duration of a run or a
 * call. It is followed backwards from the end: a thread ran since its last wait, the
 * thread that ended this wait ran before, and so on. One thread at a time.
 *
 * A wait that another thread ended belongs to that thread up to the release, and
 * to the waiter from then on (hand-over). A wait for a timer, a disk or the network
 * is a part of the chain. If the waker is not known, the chain stops there, and
 * the time before is unknown. Only waits that take less than 1 % of the chain
 * together are passed: the thread's own work before such a wait is off the true
 * chain by no more than the wait.
 */
#ifndef PERFREC_COLLECTOR_READ_CRITICAL_PATH_H
#define PERFREC_COLLECTOR_READ_CRITICAL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/base/pool.h"
#include "collector/read/time_range.h"
#include "collector/read/trace_names.h"
#include "collector/read/trace_read.h"

/* A call; its thread ran it to the end. */
struct path_call {
	uint64_t uuid; /* of its track */
	uint64_t from_ns, to_ns; /* CLOCK_BOOTTIME */
};

struct path_wish {
	const struct path_call *calls; /* the chain of each */
	size_t call_count; /* 0: the run */
	/* For the run: a part of it, and the thread at its end (NULL: the thread
	 * with the last call). */
	struct time_range range;
	const char *thread;
	bool keeps_slices; /* for the run */
};

/* Texts are numbers of critical_path.texts. Times of several chains are added
 * up. */
struct path_row {
	uint32_t function; /* innermost call; 0: none */
	uint32_t thread, tid, unused;
	uint64_t ran_ns; /* not in a wait of 10 us */
	/* Parts of ran_ns, if the trace has switches. */
	uint64_t on_cpu_ns, runnable_ns;
	uint64_t hand_over_ns; /* woken, and not back from the wait */
	uint64_t outside_ns; /* waits that no thread ended */
	uint64_t unknown_ns; /* passed waits with an unknown waker */
};

/* Waits that one thread ended for another. */
struct path_hand_over {
	uint32_t object, function; /* of the waker */
	uint32_t from, from_tid, to, to_tid; /* threads */
	uint64_t times, ns;
};

enum path_stop_why {
	PATH_STOP_WAKER, /* who ended the wait is not known */
	PATH_STOP_SILENT, /* that thread recorded no call */
	PATH_STOP_START, /* who started the thread is not known */
	PATH_STOP_WAITED, /* the waker waited itself, by the trace */
};

struct path_stop {
	uint32_t why; /* enum path_stop_why */
	uint32_t object, thread, tid; /* of the wait */
	uint64_t times, ns; /* all before */
};

enum path_kind { PATH_RAN, PATH_HAND_OVER, PATH_OUTSIDE, PATH_UNKNOWN };
#define PATH_KINDS 4

/* A part of the path in one thread and function, CLOCK_BOOTTIME. */
struct path_slice {
	uint64_t from_ns, to_ns;
	uint32_t function, thread, tid; /* as in path_row */
	uint32_t kind; /* enum path_kind */
};

struct critical_path {
	struct budget budget;
	struct trace_texts texts;
	uint64_t chains, length_ns; /* all rows and stops together */
	uint64_t end_ns; /* of the last chain, CLOCK_BOOTTIME */
	struct pool rows; /* struct path_row */
	struct pool hand_overs; /* struct path_hand_over */
	struct pool stops; /* struct path_stop */
	/* With wish.keeps_slices: without gaps, to the end of the path. */
	struct path_slice *slices;
	size_t slice_count, slice_room;
	bool has_switches;
	bool met_thread; /* wish.thread exists */
	struct trace_read_totals totals;
	int err; /* of reading; 0: reached the end of the file */
};

/* Reads the trace at @path, twice, and its switches. @progress may be NULL.
 * Returns 0, and the caller frees *@out with critical_path_free(). A truncated or
 * damaged trace is read up to the damage. Returns -errno if the file cannot be
 * opened or memory is short; then *@out is unchanged. Logs nothing. */
int critical_path_read(const char *path, const struct path_wish *wish,
		       const struct read_progress *progress,
		       struct critical_path **out);
/* Frees *@path, which may be NULL, and clears it. */
void critical_path_free(struct critical_path **path);

#endif
