/* SPDX-License-Identifier: Apache-2.0
 *
 * process_heap_inner - the members of a process_heap, for the files of its module,
 * which write its profile and dumps.
 */
#ifndef PERFREC_COLLECTOR_HEAP_PROCESS_HEAP_INNER_H
#define PERFREC_COLLECTOR_HEAP_PROCESS_HEAP_INNER_H

#include "collector/base/lock.h"
#include "collector/heap/heap.h"
#include "collector/heap/heap_history.h"
#include "collector/heap/heap_track.h"
#include "collector/heap/process_heap.h"
#include "collector/replay/order.h"

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

#endif
