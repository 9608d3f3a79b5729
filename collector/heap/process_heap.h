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

struct modules;
struct process;
struct recording;
struct samples;
struct stacks;

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
