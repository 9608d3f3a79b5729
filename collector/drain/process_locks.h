/* SPDX-License-Identifier: Apache-2.0
 *
 * process_locks - who held the locks of a process while others waited, and who
 * woke them. Sorts the contended calls of all threads by clock (order.h), and
 * writes waits, holds and flows between them to the trace.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_LOCKS_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/record/thread_state.h"
#include "collector/replay/order.h"
#include "shared/record_ext.h"

struct budget;
struct process;
struct process_locks;

#define LOCK_ADDRESS_MAX ((1ULL << 48) - 1)

/* A thread that has records. */
struct lock_thread {
	pid_t tid; /* in our pid namespace, if known */
	int32_t inner_tid; /* in its own one */
	uint64_t uuid, waits_uuid; /* of its track, and that of its waits */
	char name[16];
};

/* A further result of a wait: the process ended meanwhile. */
enum { LOCK_WAIT_PROCESS_ENDED = SYNC_RESULTS };

/* The innermost function that waits, and its caller. 0: none. */
struct lock_site {
	uint64_t function, caller;
	uint32_t generation; /* of the load map at the wait */
	uint32_t function_generation, caller_generation;
};

/* An ended wait for the object at @address. */
struct lock_wait {
	uint64_t address;
	uint64_t from_ns, to_ns;
	const char *object; /* its name, by the kernel's switches; or NULL */
	struct lock_site site; /* of a record of the program */
	uint32_t thread; /* number */
	/* Inner tids that the program saw at the start and, without success, at
	 * the end; 0: none. */
	uint32_t owner, last_owner;
	uint32_t call; /* as in struct thread_wait */
	struct thread_waker waker; /* of the last stretch */
	/* enum sync_kind; 0: no record of the program, only the kernel's
	 * switches show it */
	uint8_t kind;
	uint8_t result; /* enum sync_result, or LOCK_WAIT_PROCESS_ENDED */
	bool has_stretches; /* the kernel's switches are known */
	bool is_cut; /* the last stretch stands for several */
	uint32_t count;
	/* When the thread was off the CPU within the wait, until it was woken
	 * and had a CPU again. */
	struct lock_stretch {
		uint64_t from_ns, to_ns;
	} stretch[];
};

/* The thread and the innermost function at a release. */
struct lock_place {
	uint32_t thread; /* number */
	uint32_t generation; /* of the load map */
	uint64_t function; /* 0: none */
};

/* Returns the locks of @process, and makes them if necessary; NULL: no memory.
 * They belong to @process. A drain worker. */
struct process_locks *process_locks_of(struct process *process);
/* Returns the order for a stream of each thread. Only the next two functions
 * make its items. */
struct order *process_locks_order(struct process_locks *locks);
/* Returns a copy of @from with from->count of the @stretch, from the recording's
 * @budget, or NULL without memory. */
struct lock_wait *lock_wait_new(const struct lock_wait *from,
				const struct lock_stretch *stretch,
				struct budget *budget);
/* The end of @wait, which the item owns. Waits of one thread come in order. */
struct order_item lock_wait_item(uint64_t clock, struct lock_wait *wait);
struct order_item lock_release_item(uint64_t clock, enum sync_kind kind,
				    uint64_t address,
				    const struct lock_place *place);

/* Returns the number of a new thread, or 0 without room. Any thread. */
uint32_t process_locks_thread(struct process_locks *locks,
			      const struct lock_thread *thread);
/* The thread with this number has another name. Any thread. */
void process_locks_rename(struct process_locks *locks, uint32_t number,
			  const char name[16]);

/* Writes the remaining events, and frees the locks of @process, if it has any.
 * Call it after the end of all its threads. Jobs thread. */
void process_locks_finish(struct process *process);

#endif
