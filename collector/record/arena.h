/* SPDX-License-Identifier: Apache-2.0
 *
 * arena - the collector's side of the memory that a program shares with it, and
 * the processes that use this memory: the program, and children that it forked.
 */
#ifndef PERFREC_COLLECTOR_RECORD_ARENA_H
#define PERFREC_COLLECTOR_RECORD_ARENA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/lock.h"
#include "collector/record/family.h"
#include "collector/base/jobs.h"
#include "collector/replay/order.h"
#include "collector/replay/pause.h"
#include "collector/replay/ring_get.h"
#include "shared/ring_shm.h"
#include "shared/wire.h"

struct cpu_group;
struct map_log;
struct process;
struct recording;
struct sites;
struct thread;

/* How often each drain worker has looked at everything: drain/drain.h. */
struct drain_passes {
	uint32_t ended[DOORBELLS]; /* as many workers at most */
};

/* A slot, as the drain worker knows it that the slot belongs to. */
struct arena_slot {
	struct ring_get ring; /* see arena_ring() */
	struct thread *thread; /* that owns the slot; NULL: none */
	uint64_t checked_ns; /* when that was last seen alive */
	bool abandoned; /* the owner goes on, unrecorded */
	bool later; /* the owner is not known yet */
	uint32_t warm; /* any worker: see arena_warm() */
};

/* What stays as it is once the program has the reply to its hello. */
struct arena_setup {
	/* arena_map() sets these: */
	struct page_shm *page; /* the mapping */
	uint64_t bytes;
	uint32_t slot_count, ring_cells; /* as checked: page's may change */
	struct arena_slot *slots; /* slot_count of them */
	struct map_log *map_log; /* a reference */
	/* These two have locks of their own, or need none. */
	struct pause_list *pauses; /* the main thread begins and ends them */
	struct orders *orders; /* of its processes */

	/* serve/attach.c sets these, while the program waits for the reply: */
	struct recording *recording; /* a reference */
	struct jobs *jobs; /* where jobs go; NULL: nowhere */
	struct sites *sites; /* a reference */
	struct cpu_group *cpu; /* NULL: the kernel samples nothing */
	uid_t uid; /* of the program */
	uint64_t start_flow; /* flow from the image before it; 0: none */
	enum wire_clock clock;
	enum wire_alloc alloc; /* how the program is to record blocks */
	bool stackless; /* no spans say where a block was allocated */
	bool late; /* its program had other threads at hello: blocks that they
		    * allocated at that moment are unknown */
};

struct arena {
	uint32_t refs;
	struct arena *next; /* the main thread's list */

	/* Set before another thread knows the arena; only read after that. */
	struct arena_setup setup;
	dev_t device; /* of the memfd, as /proc/PID/maps has it */
	ino_t inode;
	int held_fd; /* tells whether anybody has it mapped; -1: unknown */
	uint64_t session; /* number of its session */

	/* Words that any thread changes. */
	uint32_t broken; /* it is read no more */
	uint32_t off; /* control is CONTROL_OFF, for good */
	uint32_t forked; /* its program has called fork() */
	uint32_t late_slots; /* slots that had to wait until their owner was
			      * known, and were not read since */
	uint64_t live_spans, live_lost; /* these three for a person to see */
	uint32_t live_threads;

	struct pause_list pauses; /* setup.pauses */
	struct orders orders; /* setup.orders */

	struct lock lock; /* of these: */
	struct process *processes;
	struct family family; /* processes that have ended */
	bool cut; /* a process went on when the recording ended */
	bool held, paused; /* see session.c */
	uint64_t search_after_ns; /* see process_meet.c */

	/* drain/process_meet.c: the files of modules that were loaded. */
	struct arena_loads {
		size_t events; /* of map_log, that drain worker 0 knows of */
		size_t opened; /* and that the jobs thread has dealt with */
		bool posted; /* under lock: job is on its way */
		struct job job;
	} loads;

	/* drain/process_reap.c: the end, on the main thread. */
	struct arena_end {
		uint64_t idle_since_ns; /* when the last process was freed */
		bool leaving; /* a last look at the slots is under way; changed
			       * under lock */
		struct drain_passes last_look;
		struct job free_job; /* arena_put()'s */
	} end;
};

/*
 * Map the arena behind @fd, which stays the caller's, if it is what @hello
 * says: a memfd of exactly that size that nobody can shrink. The caller has one
 * reference of *@out. Main thread. Returns 0, or -errno with *@why a sentence
 * for the log, which is static.
 */
int arena_map(int fd, const struct wire_hello *hello, struct arena **out,
	      const char **why);
struct arena *arena_get(struct arena *arena);
/* Give a reference back; *@arena becomes NULL. With the last one, the arena is
 * freed on the jobs of its setup: that may end a recording, too. Any thread;
 * also for NULL. */
void arena_put(struct arena **arena);

/* The setup of @arena; it is valid as long as the caller has a reference. Any
 * thread. */
const struct arena_setup *arena_setup(const struct arena *arena);
/* The same, to be changed: by serve/attach.c, until the program has the reply
 * to its hello; and at the end, when no process is left. Main thread. */
struct arena_setup *arena_change_setup(struct arena *arena);

/*
 * Whether some process has the memory of @arena mapped: 1, 0, or -EAGAIN if the
 * kernel does not tell. Each child that the program forked has it mapped, until
 * the child execs or ends. Any thread.
 */
int arena_is_held(const struct arena *arena);
/* Whether process @pid has the memory of @arena mapped. Reads /proc. Any
 * thread. */
bool arena_is_mapped_by(const struct arena *arena, pid_t pid);

/* Slot @index in the shared memory, below slot_count. Any thread. */
struct slot_shm *arena_slot_shm(const struct arena *arena, uint32_t index);
/* The reader of the ring of slot @index, which the first call makes. The drain
 * worker of the slot. */
struct ring_get *arena_ring(struct arena *arena, uint32_t index);
/* Write the control word of the program, and wake who waits for it. OFF is for
 * good: later calls change nothing. Any thread. */
void arena_control(struct arena *arena, enum control_shm control);
bool arena_is_off(const struct arena *arena);
/* The program wrote nonsense: mark @arena as broken. True for the first caller
 * only. Any thread. */
bool arena_break(struct arena *arena);
bool arena_is_broken(const struct arena *arena);

/*
 * Make the pages at the start of ring @index exist, once, so that a thread that
 * claims its slot next finds them: the first touch of a shared page costs the
 * program more than all the records on it. Any thread.
 */
void arena_warm(struct arena *arena, uint32_t index);

#endif
