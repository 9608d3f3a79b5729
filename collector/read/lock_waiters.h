/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_waiters - for each function of a trace, the blocked time of its calls and
 * their callees, divided among the threads and functions that they waited for. A
 * wait counts once for each function of its stack. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_LOCK_WAITERS_H
#define PERFREC_COLLECTOR_READ_LOCK_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/base/pool.h"
#include "collector/read/time_range.h"
#include "collector/read/wait_stacks.h"

/* Texts are numbers of trace_waits.texts. */
struct waiter_row {
	uint32_t function, unused;
	uint64_t waits, blocked_ns; /* of waits for any object */
	uint64_t own_ns; /* by own_waits_read(); of blocked_ns */
	uint64_t hand_over_ns, outside_ns, timed_out_ns, ended_ns, unknown_ns;
};

/* A thread, in a function, that the calls of a row waited for. */
struct waiter_part {
	uint32_t row; /* number of the waiter_row */
	uint32_t function, thread; /* texts; 0: unknown */
	uint32_t tid;
	uint32_t held; /* 1: it held a lock; 0: it ended waits */
	uint32_t unused;
	uint64_t ns;
};

struct lock_waiters {
	struct budget budget;
	struct pool rows; /* struct waiter_row */
	struct pool parts; /* struct waiter_part, by row and by time */
};

/* Adds up @waits, whose stacks are @stacks, in @range, only those of @thread; NULL:
 * of all. The rows have the parts that lock_sums_make() finds. Returns 0, and the
 * caller ends @out with lock_waiters_release(), or -ENOMEM. */
int lock_waiters_make(struct trace_waits *waits,
		      const struct wait_stacks *stacks,
		      const struct time_range *range, const char *thread,
		      struct lock_waiters *out);
/* @waiters may be all zero. */
void lock_waiters_release(struct lock_waiters *waiters);

/* Sets *@first to the first part of row @number. Returns their number. */
uint32_t lock_waiters_parts(const struct lock_waiters *waiters, uint32_t number,
			    const struct waiter_part **first);

#endif
