/* SPDX-License-Identifier: Apache-2.0
 *
 * arena - the collector's side of the memory that a program shares with it,
 * and who uses it: the program, and the children it forked since.
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

struct arena {
	uint32_t refs;
	struct page_shm *page; /* the mapping */
	uint64_t bytes;
	uint32_t slot_count, ring_cells; /* as checked: page's may change */
	enum wire_clock clock;
	enum wire_alloc alloc; /* what its program was asked for */
	dev_t device; /* of the memfd, as /proc/PID/maps has it */
	ino_t inode;
	uid_t uid; /* of the program that said hello */
	uint64_t search_after_ns; /* under lock: see process_meet.c */
	struct recording *recording; /* a reference */
	uint64_t start_flow; /* link from the image before; 0: none */
	uint32_t broken; /* any thread: it is read no more */
	int held_fd; /* tells whether anybody has it mapped; -1: unknown */
	uint32_t late_slots; /* any thread: slots that were to wait for it to
			      * be known who their owner is, and have not been
			      * read since */
	bool stackless; /* no spans say where a block was allocated */
	bool late; /* its program had other threads at hello: of blocks that
		    * they got just then nothing is known */
	uint32_t forked; /* its program has called fork() */
	uint32_t off; /* control is CONTROL_OFF, for good */
	uint64_t session; /* its number */
	/* For a person; any thread. */
	uint64_t live_spans, live_lost;
	uint32_t live_threads;
	struct pause_list pauses; /* main thread begins and ends them */
	struct orders orders; /* of its processes */
	struct map_log *map_log; /* a reference */
	struct sites *sites; /* a reference; set when it is attached */
	struct cpu_group *cpu; /* set when it is attached; NULL: none */
	size_t map_events; /* of it that its drain worker knows of */
	size_t map_opened; /* and that the jobs thread has dealt with */
	/* Main thread: is_arena_unused() in process_reap.c. */
	uint64_t idle_since_ns; /* no process left since */
	bool leaving; /* a last look at its slots is under way; under lock */
	struct drain_passes last_look;

	/* Each belongs to the drain worker of its slot. */
	struct arena_slot {
		struct ring_get ring; /* see arena_ring() */
		struct thread *thread; /* NULL: nobody's */
		uint64_t checked_ns; /* when it was last seen alive */
		bool abandoned; /* its owner goes on, unrecorded */
		bool later; /* who its owner is, is not known yet */
		uint32_t warm; /* any worker: see arena_warm() */
	} * slot;

	struct lock lock;
	struct process *processes; /* under lock */
	struct family family; /* under lock: those that have ended */
	bool cut; /* under lock: one went on when its recording ended */
	bool map_posted; /* under lock: map_job is on its way */
	bool held, paused; /* under lock: see session.c */
	struct arena *next; /* main thread's list */
	struct jobs *jobs; /* where free_job goes; NULL: nowhere */
	struct job free_job, map_job;
};

/*
 * Map the arena behind @fd (which stays the caller's) if it is what @hello
 * says: a memfd of exactly that size that nobody can shrink. Returns 0, or
 * -errno with *@why a sentence for the log. The caller holds one reference.
 */
int arena_map(int fd, const struct wire_hello *hello, struct arena **out,
	      const char **why);
struct arena *arena_get(struct arena *arena);
/* Any thread. The last one leaves the end to arena->jobs: it may be that of a
 * recording, too. */
void arena_put(struct arena **arena);

/*
 * Whether some process has the memory of @arena mapped, which every child has
 * that its program forked, until it execs or ends. -EAGAIN: the kernel does not
 * tell. Any thread.
 */
int arena_is_held(const struct arena *arena);
/* Whether process @pid has. Reads /proc. Any thread. */
bool arena_is_mapped_by(const struct arena *arena, pid_t pid);

struct slot_shm *arena_slot_shm(const struct arena *arena, uint32_t index);
/* The reader of slot @index, made when it is first asked for. Its worker. */
struct ring_get *arena_ring(struct arena *arena, uint32_t index);
/* Lets the program record, or ends that for good: OFF stays. Any thread. */
void arena_control(struct arena *arena, enum control_shm control);
bool arena_is_off(const struct arena *arena);
/* True for the first caller only: the program wrote nonsense. Any thread. */
bool arena_break(struct arena *arena);
bool arena_is_broken(const struct arena *arena);

/*
 * Make the pages at the start of ring @index exist, once, so that a thread that
 * claims its slot next finds them: the first touch of a shared page costs the
 * program more than all the records on it. Any thread.
 */
void arena_warm(struct arena *arena, uint32_t index);

#endif
