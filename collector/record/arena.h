/* SPDX-License-Identifier: Apache-2.0
 *
 * arena - the collector's side of the memory that a program shares with it, and
 * the processes that use this memory: the program and its forked children.
 */
#ifndef PERFREC_COLLECTOR_RECORD_ARENA_H
#define PERFREC_COLLECTOR_RECORD_ARENA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/jobs.h"
#include "collector/replay/ring_get.h"
#include "shared/ring_shm.h"
#include "shared/wire.h"

struct arena; /* arena_inner.h */
struct call_layouts;
struct cpu_group;
struct family;
struct map_log;
struct orders;
struct pause_list;
struct process;
struct recording;
struct sites;
struct states;
struct thread;

/* The number of rounds of each drain worker through its slots of an arena
 * (drain/drain.h). */
struct drain_rounds {
	uint32_t ended[DOORBELLS]; /* at most DOORBELLS workers */
};

/* The begin of a round, on both clocks. */
struct round_begin {
	uint64_t ns; /* BOOTTIME */
	uint64_t ticks; /* clock_ticks() */
};

#define ROUND_ENDING_MAX 64 /* per round; more wait for the next */

/* The state of one drain worker's round through its slots of an arena. A round
 * may take more than one turn. */
struct arena_round {
	/* Only for that worker: */
	bool under_way;
	bool resume; /* the last visit of slot next did not empty the ring */
	uint32_t next;
	struct round_begin begin;
	uint32_t ending_count;
	/* at the start of the round */
	struct process *ending[ROUND_ENDING_MAX];
	/* Any thread (row PASS in docs/RING.md): */
	uint32_t rounds; /* finished rounds */
	struct round_begin ended; /* begin of the last finished round */
};

/* A slot, as its drain worker sees it. */
struct arena_slot {
	struct ring_get ring; /* see arena_ring() */
	struct thread *thread; /* owner of the slot, or NULL */
	uint64_t checked_ns; /* last time the owner was seen alive */
	bool abandoned; /* the owner goes on unrecorded */
	bool later; /* the owner is not known yet */
	uint32_t warm; /* any worker: see arena_warm() */
};

/* The constant part of an arena, from the reply to the hello on. */
struct arena_setup {
	/* arena_map() sets these: */
	struct page_shm *page; /* the mapping */
	uint64_t bytes;
	uint32_t slot_count, ring_cells; /* checked; those of page may change */
	uint32_t functions_max; /* function numbers are below it; checked */
	uint64_t give_after_ns; /* for all its rings: ring_get_init() */
	struct arena_slot *slots; /* slot_count of them */
	/* Sealed memfd of the thunk area, with the right size; -1: none. */
	int thunk_fd;
	/* /proc/PID/mem that the program has opened for reading and writing;
	 * -1: not sent. After its exec() or end, reads and writes return 0
	 * bytes. */
	int mem_fd;
	struct map_log *map_log; /* a reference */
	/* These two have locks of their own, or need none. */
	struct pause_list *pauses; /* changed by the main thread */
	/* States of functions; written by the thread that changes them. */
	struct function_log *functions;
	/* Layouts of recorded arguments; written by the same thread. */
	struct call_layouts *layouts;
	struct orders *orders; /* of its processes */

	/* Set by serve/attach.c while the program waits for the reply: */
	struct recording *recording; /* a reference */
	struct jobs *jobs; /* the recording's; NULL: none */
	struct sites *sites; /* a reference */
	struct states *states; /* of its functions; NULL: unknown */
	struct cpu_group *cpu; /* NULL: the kernel samples nothing */
	/* Bases of the threads that existed at hello; NULL: unknown. */
	struct task_bases *bases;
	uid_t uid; /* of the program */
	pid_t pid; /* that sent the hello */
	uint64_t start_flow; /* flow from the previous image; 0: none */
	uint32_t rank; /* of the program (hello), plus 1; 0: none */
	enum wire_clock clock;
	enum wire_alloc alloc; /* how the program records blocks */
	bool entry_build; /* the hello names a module of an entry build */
	bool stackless; /* no spans show where a block was allocated */
	/* The program had other threads at hello: blocks that they allocated at
	 * that moment are unknown. */
	bool late;
};

/* The part of serve/session.c. */
struct arena_session {
	uint64_t number;
	bool held, paused; /* under the arena's lock */
	bool waits_for_files; /* of modules.h, at the start ... */
	bool waits_for_names; /* ... for excluded or counted names ... */
	bool waits_for_text; /* ... and for connected functions */
};

/* The part of the room drain. */
struct arena_drain {
	/* process_meet.c; under the arena's lock */
	uint64_t search_after_ns, meet_after_ns;
	bool lack_told; /* a lack for children was noted */
	/* process_meet.c: opens the files of loaded modules. */
	struct arena_loads {
		struct arena *arena; /* a reference while job is queued */
		size_t events; /* of map_log, seen by drain worker 0 */
		size_t opened; /* events that the jobs thread has handled */
		uint32_t dlopens; /* dlopen() calls, seen by drain worker 0 */
		bool posted; /* under the arena's lock: job is queued */
		struct job job;
	} loads;
	/* filter_names.c: the symbol tables that filters need. */
	struct arena_names {
		struct arena *arena; /* a reference while job is queued */
		/* Atomic: events of map_log whose tables were requested;
		 * changed under the arena's lock. */
		size_t events;
		uint32_t pending; /* atomic: some tables are not read yet */
		struct job job;
	} names;
	bool nice; /* drain.c: the nice workers drain it */
	/* The begin of each drain worker's last round, BOOTTIME. Stored by that
	 * worker, relaxed. */
	uint64_t looked_ns[DOORBELLS];
	/* process_reap.c, main thread: the end. */
	/* The last look at the slots is under way; changed under the arena's
	 * lock. */
	bool leaving;
	struct drain_rounds last_look;
	/* worker.c: one for each drain worker. */
	struct arena_round round[DOORBELLS];
	bool removed; /* drain.c: workers are done; relaxed, set once */
};

/* Figures shown while the recording runs. */
struct arena_live {
	uint64_t spans, lost;
	uint32_t threads;
};

/*
 * Maps the arena behind @fd, which stays the caller's. It must match @hello: a
 * memfd of exactly that size that cannot shrink. The caller gets one reference
 * to *@out. Main thread. Returns 0, or -errno with *@why a static sentence for
 * the log.
 */
int arena_map(int fd, const struct wire_hello *hello, struct arena **out,
	      const char **why);
/* Duplicates the descriptors @fds, which followed the arena's in @hello, into
 * the setup of @arena. Skips files that are not what hello->fds claims. Main
 * thread. */
void arena_adopt_fds(struct arena *arena, const struct wire_hello *hello,
		     const int *fds);
struct arena *arena_get(struct arena *arena);
/* Releases a reference; *@arena becomes NULL. The last release frees the arena
 * on the jobs of its setup, which may also end a recording. Any thread; accepts
 * NULL. */
void arena_put(struct arena **arena);

/* Returns the setup of @arena, valid while the caller has a reference. Any
 * thread. */
const struct arena_setup *arena_setup(const struct arena *arena);
/* Returns the setup for changes: by serve/attach.c until the reply to the
 * hello, and at the end, after the last process. Main thread. */
struct arena_setup *arena_change_setup(struct arena *arena);
/* Parts of @arena that higher rooms own. @arena owns them. */
struct arena_session *arena_session(struct arena *arena);
struct arena_drain *arena_drain(struct arena *arena);

/* Puts @arena at the front of @list, or removes it. The list holds the caller's
 * reference. Main thread. */
void arena_link(struct arena *arena, struct arena **list);
void arena_unlink(struct arena *arena, struct arena **list);
/* Returns the next arena in the list, or NULL. Main thread. */
struct arena *arena_next(const struct arena *arena);

/* Takes the lock of @arena, for a short time only. It guards the list of its
 * processes, its family, and all state that headers describe as "under the
 * arena's lock". Any thread. */
void arena_lock(struct arena *arena);
void arena_unlock(struct arena *arena);
/* Returns the newest process of @arena, or NULL; process_next() continues the
 * list. Under lock. */
struct process *arena_first_process(const struct arena *arena);
/* The list of the processes of @arena, which process.c changes. Under lock. */
struct process **arena_processes(struct arena *arena);
/* The number of watched processes (watches.h), which process.c changes. Under
 * lock. */
uint32_t *arena_watched(struct arena *arena);
/* Returns the ended processes of @arena. Under lock. */
struct family *arena_family(struct arena *arena);
/* Notes that a process of @arena ran on when the recording ended. Under lock.
 */
void arena_cut(struct arena *arena);
bool arena_is_cut(const struct arena *arena);
/* Notes that the last process of @arena has been freed. Main thread. */
void arena_note_idle(struct arena *arena);
/* Returns the BOOTTIME of the last arena_note_idle(). Main thread. */
uint64_t arena_idle_since(const struct arena *arena);

/* Notes that the program of @arena has called fork(). A drain worker. */
void arena_note_fork(struct arena *arena);
/* Returns true after arena_note_fork(); a hint, which may come late. Any
 * thread. */
bool arena_has_forked(const struct arena *arena);
/* Adds @change to the number of slots that wait for their owner to become known
 * and were not read since. A drain worker. */
void arena_add_late_slots(struct arena *arena, int change);
/* Returns that number. Any thread. */
uint32_t arena_late_slots(const struct arena *arena);

/* Add to the figures of arena_live(). Any thread. */
void arena_add_live(struct arena *arena, uint64_t spans, uint64_t lost);
void arena_add_live_threads(struct arena *arena, int change);
struct arena_live arena_live(const struct arena *arena);

/*
 * Returns 1 if a process maps the memory of @arena, 0 if none does, or -EAGAIN
 * if the kernel cannot tell. A forked child maps it until it execs or ends. Any
 * thread.
 */
int arena_is_held(const struct arena *arena);
/* Returns true if the memory of @arena is that file. Any thread. */
bool arena_is_file(const struct arena *arena, uint64_t device, uint64_t inode);
/* Returns true if process @pid maps the memory of @arena. Reads /proc. Any
 * thread. */
bool arena_is_mapped_by(const struct arena *arena, pid_t pid);
/* The same in limited time, for the main thread: 1, 0, or -EAGAIN if the first
 * MAPS_LINES_SOON mappings of @pid do not show it and there are more. */
int arena_is_mapped_soon(const struct arena *arena, pid_t pid);

/* Returns slot @index, below slot_count, in the shared memory. Any thread. */
struct slot_shm *arena_slot_shm(const struct arena *arena, uint32_t index);
/* Returns the count cells of slot @index: setup->functions_max cells; cell 0
 * belongs to no function. The program may write them at any time, so load each
 * word once. Any thread. */
struct count_cell *arena_counts(const struct arena *arena, uint32_t index);
/* Returns the reader of the ring of slot @index; the first call makes it. The
 * drain worker of the slot. */
struct ring_get *arena_ring(struct arena *arena, uint32_t index);
/* Writes the control word of the program and wakes its waiters. OFF is final:
 * later calls change nothing. Any thread. */
void arena_control(struct arena *arena, enum control_shm control);
bool arena_is_off(const struct arena *arena);
/* Marks @arena as broken, because the program wrote nonsense. Returns true for
 * the first caller only. Any thread. */
bool arena_break(struct arena *arena);
bool arena_is_broken(const struct arena *arena);

/*
 * Allocates the first pages of ring @index, once, so that the next thread that
 * claims the slot finds them. The first touch of a shared page costs the
 * program more than all records on it. Any thread.
 */
void arena_warm(struct arena *arena, uint32_t index);

#endif
