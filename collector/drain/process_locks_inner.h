/* SPDX-License-Identifier: Apache-2.0
 *
 * process_locks_inner - shared by the parts of process_locks.h: process_locks.c
 * finds waits and holds, process_locks_write.c writes them to the trace.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_LOCKS_INNER_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_LOCKS_INNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/base/pool.h"
#include "collector/drain/process_locks.h"
#include "collector/drain/wait_events.h"
#include "collector/record/wakes.h"
#include "collector/replay/clock_sync.h"

struct known_lock;
struct modules;
struct recording;
struct wait_places;

#define LOCK_BUCKETS 1024u
#define HOLD_TRACKS 8u /* of a thread */

/* An ownership of a lock, by its release. */
struct hold {
	struct lock_place by;
	uint64_t ns; /* of the release; 0: no hold */
	uint64_t since_ns; /* its start; 0: unknown */
	uint64_t flow; /* to the waiter that it woke */
	bool shared; /* by readers; the last one released it */
	bool listed; /* as an event */
};

/* Where a lock was first waited for. */
struct first_site {
	uint64_t address;
	struct lock_site site;
};

/* A wait or a hold, to be written. */
struct lock_event {
	uint64_t address;
	const char *object;
	struct lock_site site; /* of a hold: of the wait that lists it */
	uint64_t from_ns, to_ns;
	uint32_t thread;
	uint32_t call;
	uint8_t kind, result;
	bool is_hold;
	struct thread_waker waker; /* of a wait: by the kernel */
	struct hold held; /* of a wait: its longest holder; else itself */
	struct hold woke; /* of a wait: its waker */
	/* The write that ended a wait for data. Its modules, a reference, are
	 * NULL if that write is not known. */
	struct wake wake;
};

struct written_thread {
	struct lock_thread known; /* under the lock */
	/* Jobs thread: */
	uint64_t track[HOLD_TRACKS]; /* 0: not made yet */
	uint64_t last_ns[HOLD_TRACKS]; /* end of its last slice */
};

struct process_locks {
	struct job job;
	struct recording *recording; /* a reference */
	struct modules *modules; /* a reference */
	struct clock_sync *sync; /* NULL: clocks are ns */
	pid_t pid;
	struct order *order;
	struct lock lock;
	/* Under the lock: */
	struct written_thread **thread; /* by number; 0 is none */
	uint32_t thread_count, thread_room;
	struct lock_event *event;
	uint32_t event_count, event_room;
	bool posted; /* the job is in the queue */
	bool ended;
	/* Of the consumer: */
	struct clock_segment segment;
	uint64_t salt; /* of flows */
	struct known_lock *bucket[LOCK_BUCKETS];
	uint32_t lock_count;
	uint64_t forgotten_ns; /* the same, of locks that are not known */
	/* Waits whose waker by the records is the kernel's, or not. */
	struct lock_proof {
		uint64_t right_ns, unknown_ns, wrong_ns;
	} of_locks, of_data;
	/* Jobs thread only: */
	struct wait_events out;
	struct wait_places *places; /* NULL until used */
	struct pool sites; /* struct first_site, of locks in no file */
};

/* Returns true if locks of this kind have holders; others are only signalled. */
static inline bool lock_has_holders(enum sync_kind kind)
{
	return kind == SYNC_MUTEX || kind == SYNC_READ || kind == SYNC_WRITE;
}

/* --- process_locks_write.c --- */

/* Writes all events. Jobs thread. */
void process_locks_write(struct process_locks *locks);

#endif
