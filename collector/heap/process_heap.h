/* SPDX-License-Identifier: Apache-2.0
 *
 * process_heap - the heap of one process. Its threads tell of blocks; what they
 * tell goes through an order (order.h), whose consumer keeps the heap (heap.h)
 * and the counters in the trace.
 *
 * It exists from the first record of a block until its profile is written, and
 * may outlive the process: it is reference counted.
 */
#ifndef PERFREC_COLLECTOR_HEAP_PROCESS_HEAP_H
#define PERFREC_COLLECTOR_HEAP_PROCESS_HEAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/lock.h"
#include "collector/heap/heap.h"
#include "collector/heap/heap_track.h"
#include "collector/replay/order.h"

struct modules;
struct process;
struct recording;
struct samples;
struct stacks;

#define HEAP_DOUBLES 16

/* A thread, as the profile's labels name it. */
struct heap_owner {
	pid_t tid; /* 0: several of one name */
	char name[16];
	uint64_t uuid; /* of its track */
};

struct process_heap {
	uint32_t refs;
	struct process_heap *next; /* under the recording's lock */
	struct recording *recording; /* a reference */
	struct modules *modules; /* a reference */
	struct order *order;
	struct stacks *stacks; /* what its sites are numbered by */
	pid_t pid;
	char name[16]; /* of the process, at its end */
	bool forked; /* it began with blocks of its parent */
	bool sampled; /* else: exact */
	struct samples *samples; /* a reference; NULL: no stacks are told */
	const struct process *process; /* until it has ended */
	uint32_t unsure; /* any thread sets it: blocks may be unknown, or belong
			  * to threads that cannot be told apart */

	/* Of the consumer, or under order_lock(): */
	struct heap heap;
	/* Of an exact heap: the blocks whose stack was told, or NULL; see
	 * heap_spread.h. They have a lock of their own, since whoever waits for
	 * order_lock() holds up the consumer. */
	struct lock known_lock;
	struct heap *known;
	uint64_t known_clock; /* its events */
	struct heap_track track;
	struct order_item doubles[HEAP_DOUBLES]; /* not told yet */
	uint32_t double_count;

	struct lock lock; /* of what follows */
	struct heap_owner *owner; /* [0]: nobody */
	uint32_t owner_count, owner_room;
	uint64_t dropped_allocs, dropped_frees;
	uint64_t paused; /* allocations in pauses */
	uint64_t odd; /* records that made no sense */
};

/* The heap of @process, which is made by the first call. The process keeps the
 * reference. NULL: out of memory. A drain worker. */
struct process_heap *process_heap_of(struct process *process);
struct process_heap *process_heap_get(struct process_heap *heap);
void process_heap_put(struct process_heap **heap);

/* The number of the thread @tid, called @name, as the owner of blocks; @uuid is
 * that of its track, or 0. Returns 0 if there is no room for one more. Any
 * thread. */
uint32_t process_heap_owner(struct process_heap *heap, pid_t tid,
			    const char *name, uint64_t uuid);
/* A thread has ended, and @allocs and @frees of it, which no record will tell
 * of, found no room in its ring. Any thread. */
void process_heap_dropped(struct process_heap *heap, uint64_t allocs,
			  uint64_t frees);
/* Blocks of @heap may be unknown, for a reason that its arena does not know: no
 * free is called a double free any more. Any thread. */
void process_heap_unsure(struct process_heap *heap);
/* A thread has ended, and @allocs allocations of it were in pauses. Any
 * thread. */
void process_heap_paused(struct process_heap *heap, uint64_t allocs);
/* Count a record that made no sense. Any thread. */
void process_heap_odd(struct process_heap *heap);

/* process_heap_spread() gives the stacks that were told to all blocks that have
 * none (heap_spread.h), process_heap_unspread() takes them back. In between
 * known_lock is held. Under order_lock(), or when nobody changes the heap any
 * more. Both do nothing if no stacks were told. */
void process_heap_spread(struct process_heap *heap);
void process_heap_unspread(struct process_heap *heap);

/* All threads of @process have ended: take in what they left. Returns its heap,
 * which nobody changes any more, for heap_files_finish(); NULL: no block was
 * told of. The process keeps the reference. The jobs thread, once. */
struct process_heap *process_heap_end(struct process *process);

#endif
