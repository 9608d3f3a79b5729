/* SPDX-License-Identifier: Apache-2.0
 *
 * process_heap - the heap of one process. Its threads report blocks to an order
 * (order.h), whose consumer maintains the heap (heap.h) and the counters in the
 * trace.
 *
 * It exists from the first record of a block until its profile is written, and
 * may outlive the process; so it is reference counted.
 */
#ifndef PERFREC_COLLECTOR_HEAP_PROCESS_HEAP_H
#define PERFREC_COLLECTOR_HEAP_PROCESS_HEAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/lock.h"
#include "collector/heap/heap.h"
#include "collector/heap/heap_history.h"
#include "collector/heap/heap_track.h"
#include "collector/replay/order.h"

struct modules;
struct process;
struct recording;
struct samples;
struct stacks;

#define HEAP_DOUBLES 16

struct heap_owner {
	pid_t tid; /* 0: several threads of one name */
	char name[16];
	uint64_t uuid; /* of its track */
};

struct process_heap {
	uint32_t refs;
	struct process_heap *next; /* under the recording's lock */
	struct recording *recording;
	struct modules *modules;
	struct order *order;
	struct stacks *stacks; /* numbers of the sites' stacks */
	pid_t pid;
	char name[16]; /* of the process, at its end */
	bool forked; /* started with blocks of its parent */
	bool sampled; /* false: exact */
	struct samples *samples; /* a reference; NULL: no stacks */
	const struct process *process; /* valid until it has ended */
	uint32_t unsure; /* any thread sets it: blocks may be unknown, or their
			  * threads ambiguous */

	/* Owned by the consumer, or under order_lock(): */
	struct heap heap;
	/* The blocks of an exact heap with a sampled stack, or NULL; see
	 * heap_spread.h. They have their own lock, because a thread that waits
	 * for order_lock() delays the consumer. */
	struct lock known_lock;
	struct heap *known;
	uint64_t known_clock;
	struct heap_track track;
	struct heap_history history; /* for heap_bands.h */
	struct order_item doubles[HEAP_DOUBLES];
	uint32_t double_count;

	struct lock lock; /* protects the fields below */
	struct heap_owner *owner; /* [0]: no thread */
	uint32_t owner_count, owner_room;
	uint64_t dropped_allocs, dropped_frees;
	uint64_t paused; /* allocations in pauses */
	uint64_t odd; /* malformed records */
};

/* Returns the heap of @process, created by the first call, or NULL without
 * memory. The process keeps the reference. Drain workers. */
struct process_heap *process_heap_of(struct process *process);
struct process_heap *process_heap_get(struct process_heap *heap);
void process_heap_put(struct process_heap **heap);

/* Returns the number of thread @tid with @name as an owner of blocks, or 0
 * without room. @uuid is its track's, or 0. Any thread. */
uint32_t process_heap_owner(struct process_heap *heap, pid_t tid,
			    const char *name, uint64_t uuid);
/* Counts losses of a thread that has ended: @allocs and @frees found no room in
 * its ring, and no record reports them. Any thread. */
void process_heap_dropped(struct process_heap *heap, uint64_t allocs,
			  uint64_t frees);
/* Blocks may be unknown for a reason outside the arena, so no free is reported
 * as double any more. Any thread. */
void process_heap_unsure(struct process_heap *heap);
/* Counts @allocs allocations in pauses, for a thread that has ended. Any
 * thread. */
void process_heap_paused(struct process_heap *heap, uint64_t allocs);
void process_heap_odd(struct process_heap *heap);

/* process_heap_spread() spreads the sampled stacks over blocks without a stack
 * (heap_spread.h); process_heap_unspread() undoes it. known_lock is held in
 * between. Under order_lock(), or when no thread changes the heap any more.
 * Without sampled stacks both do nothing. */
void process_heap_spread(struct process_heap *heap);
void process_heap_unspread(struct process_heap *heap);

/* Applies the remaining records after all threads of @process have ended.
 * Returns its heap, now constant, for heap_files_finish(), or NULL without any
 * block. The process keeps the reference. Jobs thread, once. */
struct process_heap *process_heap_end(struct process *process);

#endif
