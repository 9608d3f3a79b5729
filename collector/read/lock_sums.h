/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_sums - whom the threads of a trace waited for: the blocked time of each
 * lock, divided among its holders. Locks without recorded holds, such as condition
 * variables, have their wakers instead. Pure. One thread at a time.
 *
 * A moment of a wait counts for the thread that held the lock then; several
 * holders (of a read lock) share it. From a release inside of the wait to the
 * next hold it is hand-over, otherwise unknown. A wait for a waker counts for the
 * waker as a whole. So the parts of a lock add up to its blocked time.
 *
 * A lock may have a row for each stack that waited for it, or a part for each
 * stack that held it. The rows, or parts, add up to those without stacks; "unknown"
 * may differ by some ns.
 */
#ifndef PERFREC_COLLECTOR_READ_LOCK_SUMS_H
#define PERFREC_COLLECTOR_READ_LOCK_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/base/pool.h"
#include "collector/read/time_range.h"
#include "collector/read/trace_waits.h"

enum lock_sums_by {
	LOCK_SUMS_BY_LOCK,
	LOCK_SUMS_BY_WAITER, /* rows by stack; of other objects as well */
	LOCK_SUMS_BY_HOLDER, /* parts by stack */
};

/* Texts are numbers of trace_waits.texts. */
struct lock_row {
	uint32_t process; /* number of its track; UINT32_MAX: unknown */
	uint32_t lock; /* 0: other objects, with LOCK_SUMS_BY_WAITER */
	/* With LOCK_SUMS_BY_WAITER: of its waits. In a group: of the first wait
	 * for each of its locks. Otherwise 0. */
	uint32_t stack;
	uint32_t kind; /* in a group: 1 if it has holds; otherwise 0 */
	uint64_t waits, blocked_ns;
	uint64_t own_ns; /* by own_waits_read(); of blocked_ns */
	struct time_range range; /* of its waits */
	uint32_t first_stack; /* of the first one; 0: unknown */
	uint32_t locks; /* of a group; otherwise 1 */
	bool held; /* it has holds; otherwise wakers */
	/* While others waited. Not with LOCK_SUMS_BY_WAITER. */
	uint64_t holds, held_ns, longest_ns;
	uint64_t hand_over_ns; /* of a lock with holds */
	/* These three only of a lock with wakers. */
	uint64_t outside_ns, timed_out_ns, ended_ns;
	uint64_t unknown_ns;
};

/* The holder, or the waker, of a lock. */
struct lock_part {
	uint32_t row; /* number of the lock_row */
	uint32_t function, thread; /* texts; 0: unknown */
	uint32_t tid;
	uint32_t stack; /* with LOCK_SUMS_BY_HOLDER; else 0 */
	uint32_t unused;
	uint64_t times; /* holds, or waits that it ended */
	uint64_t ns; /* blocked time of others */
};

struct lock_sums {
	struct budget budget;
	struct pool rows; /* struct lock_row, by first wait */
	struct pool parts; /* struct lock_part */
	enum lock_sums_by by;
	uint64_t other_waits, other_ns; /* for anything but a lock */
};

/* Adds up @waits in @range, only those of the @thread with this number or name;
 * NULL: of all. Sets *@met to false if there is no such thread. Stacks are those of
 * wait_stacks_read(). Returns 0, and the caller ends @out with lock_sums_release(),
 * or -ENOMEM. */
int lock_sums_make(struct trace_waits *waits, const struct time_range *range,
		   const char *thread, enum lock_sums_by by, bool *met,
		   struct lock_sums *out);
void lock_sums_release(struct lock_sums *sums);

#endif
