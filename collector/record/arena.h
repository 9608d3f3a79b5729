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

#include "collector/base/jobs.h"
#include "collector/replay/ring_get.h"
#include "shared/ring_shm.h"
#include "shared/wire.h"

struct arena; /* arena_inner.h */
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

/* How many rounds each drain worker had made through its slots of an arena:
 * drain/drain.h. */
struct drain_rounds {
	uint32_t ended[DOORBELLS]; /* as many workers at most */
};

/* When a round began, by both clocks. */
struct round_begin {
	uint64_t ns; /* BOOTTIME */
	uint64_t ticks; /* clock_ticks() */
};

#define ROUND_ENDING_MAX 64 /* processes; more wait for the next round */

/* How far one drain worker is in its round through its slots of an arena: a
 * round may take more than one turn. */
struct arena_round {
	/* Of that worker alone: */
	bool under_way;
	bool resume; /* slot next was left before it was read to the end */
	uint32_t next; /* the slot to visit next */
	struct round_begin begin;
	uint32_t ending_count;
	struct process *ending[ROUND_ENDING_MAX]; /* when the round began */
	/* Any thread (row PASS in docs/RING.md): */
	uint32_t rounds; /* that ended */
	struct round_begin ended; /* the begin of the last one of them */
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
	uint64_t give_after_ns; /* the readers' of its rings: ring_get_init() */
	struct arena_slot *slots; /* slot_count of them */
	int thunk_fd; /* memfd of the thunk area, of the right size and sealed;
		       * -1: the program has none */
	int mem_fd; /* /proc/PID/mem of the program as it opened it, to read
		     * and write; -1: it has passed none. After its exec() or
		     * end it reads and writes 0 bytes */
	struct map_log *map_log; /* a reference */
	/* These two have locks of their own, or need none. */
	struct pause_list *pauses; /* the main thread begins and ends them */
	struct function_log *functions; /* their states: the thread that changes
					 * them writes it */
	struct orders *orders; /* of its processes */

	/* serve/attach.c sets these, while the program waits for the reply: */
	struct recording *recording; /* a reference */
	struct jobs *jobs; /* where jobs go; NULL: nowhere */
	struct sites *sites; /* a reference */
	struct states *states; /* of its functions; NULL: none are known */
	struct cpu_group *cpu; /* NULL: the kernel samples nothing */
	struct task_bases *bases; /* of the threads that were there at hello;
				   * NULL: nobody knows */
	uid_t uid; /* of the program */
	pid_t pid; /* that has said hello */
	uint64_t start_flow; /* flow from the image before it; 0: none */
	enum wire_clock clock;
	enum wire_alloc alloc; /* how the program is to record blocks */
	bool entry_build; /* a module of the program is one (hello) */
	bool stackless; /* no spans say where a block was allocated */
	bool late; /* its program had other threads at hello: blocks that they
		    * allocated at that moment are unknown */
};

/* What serve/session.c keeps of a program that is recorded. */
struct arena_session {
	uint64_t number;
	bool held, paused; /* under the arena's lock */
	bool waits_for_files; /* of modules.h, when it starts ... */
	bool waits_for_names; /* ... for what is excluded or counted ... */
	bool waits_for_text; /* ... and until its functions are connected */
};

/* What the room drain keeps of an arena. */
struct arena_drain {
	/* process_meet.c; under the arena's lock */
	uint64_t search_after_ns, meet_after_ns;
	bool lack_told; /* of descriptors or memory, for children */
	/* process_meet.c: the files of modules that were loaded. */
	struct arena_loads {
		struct arena *arena; /* a reference while job is on its way */
		size_t events; /* of map_log, that drain worker 0 knows of */
		size_t opened; /* and that the jobs thread has dealt with */
		uint32_t dlopens; /* and calls of dlopen() */
		bool posted; /* under the arena's lock: job is on its way */
		struct job job;
	} loads;
	/* filter_names.c: the symbol tables that filters need. */
	struct arena_names {
		struct arena *arena; /* a reference while job is on its way */
		size_t events; /* atomic: of map_log, whose modules were asked
				* for; changed under the arena's lock */
		uint32_t pending; /* atomic: not all of these were read */
		struct job job;
	} names;
	bool nice; /* drain.c: the nice workers drain it */
	/* When each drain worker began its last look at the slots, BOOTTIME:
	 * that worker, relaxed. */
	uint64_t looked_ns[DOORBELLS];
	/* process_reap.c: the end, on the main thread. */
	bool leaving; /* a last look at the slots is under way; changed under
		       * the arena's lock */
	struct drain_rounds last_look;
	/* worker.c: of each drain worker. */
	struct arena_round round[DOORBELLS];
	bool removed; /* drain.c: workers look no more; relaxed, set once */
};

/* What a person sees while it goes on. */
struct arena_live {
	uint64_t spans, lost;
	uint32_t threads;
};

/*
 * Map the arena behind @fd, which stays the caller's, if it is what @hello
 * says: a memfd of exactly that size that nobody can shrink. The caller has one
 * reference of *@out. Main thread. Returns 0, or -errno with *@why a sentence
 * for the log, which is static.
 */
int arena_map(int fd, const struct wire_hello *hello, struct arena **out,
	      const char **why);
/* Duplicate the descriptors @fds that came with @hello behind that of the
 * arena, into the setup of @arena: those that are what hello->fds says. The
 * program's files may be anything. Main thread. */
void arena_adopt_fds(struct arena *arena, const struct wire_hello *hello,
		     const int *fds);
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
/* The parts of @arena that rooms above own. They live as long as @arena. */
struct arena_session *arena_session(struct arena *arena);
struct arena_drain *arena_drain(struct arena *arena);

/* Put @arena into @list, as the first; take it out again. The reference goes
 * with it. Main thread. */
void arena_link(struct arena *arena, struct arena **list);
void arena_unlink(struct arena *arena, struct arena **list);
/* The arena after @arena in the list, or NULL. Main thread. */
struct arena *arena_next(const struct arena *arena);

/* Take the lock of @arena, for a short time only. It guards the list of its
 * processes, its family, and what other headers call "under the arena's lock".
 * Any thread. */
void arena_lock(struct arena *arena);
void arena_unlock(struct arena *arena);
/* The newest process of @arena, with which process_next() begins; NULL: it has
 * none. Under lock. */
struct process *arena_first_process(const struct arena *arena);
/* The list of the processes of @arena, for process.c to change. Under lock. */
struct process **arena_processes(struct arena *arena);
/* How many of them are watched (watches.h), for process.c to change. Under
 * lock. */
uint32_t *arena_watched(struct arena *arena);
/* The processes of @arena that have ended. Under lock. */
struct family *arena_family(struct arena *arena);
/* A process of @arena went on when the recording ended. Under lock. */
void arena_cut(struct arena *arena);
bool arena_is_cut(const struct arena *arena);
/* The last process of @arena has been freed. Main thread. */
void arena_note_idle(struct arena *arena);
/* When that was called last; BOOTTIME. Main thread. */
uint64_t arena_idle_since(const struct arena *arena);

/* The program of @arena has called fork(). A drain worker. */
void arena_note_fork(struct arena *arena);
/* Whether it has. It is a hint, which may come late. Any thread. */
bool arena_has_forked(const struct arena *arena);
/* Add @change to the number of slots that had to wait until their owner was
 * known, and were not read since. A drain worker. */
void arena_add_late_slots(struct arena *arena, int change);
/* That number. Any thread. */
uint32_t arena_late_slots(const struct arena *arena);

/* Add to what arena_live() returns. Any thread. */
void arena_add_live(struct arena *arena, uint64_t spans, uint64_t lost);
void arena_add_live_threads(struct arena *arena, int change);
struct arena_live arena_live(const struct arena *arena);

/*
 * Whether some process has the memory of @arena mapped: 1, 0, or -EAGAIN if the
 * kernel does not tell. Each child that the program forked has it mapped, until
 * the child execs or ends. Any thread.
 */
int arena_is_held(const struct arena *arena);
/* Whether the memory of @arena is that file. Any thread. */
bool arena_is_file(const struct arena *arena, uint64_t device, uint64_t inode);
/* Whether process @pid has the memory of @arena mapped. Reads /proc. Any
 * thread. */
bool arena_is_mapped_by(const struct arena *arena, pid_t pid);
/* The same for the main thread: 1, 0, or -EAGAIN: not among the first
 * MAPS_LINES_SOON mappings of @pid, and there are more. */
int arena_is_mapped_soon(const struct arena *arena, pid_t pid);

/* Slot @index in the shared memory, below slot_count. Any thread. */
struct slot_shm *arena_slot_shm(const struct arena *arena, uint32_t index);
/* The count cells of slot @index: function_numbers(setup->ring_cells) of them,
 * cell 0 for no function. The program writes them at any time: load each word
 * once. Any thread. */
struct count_cell *arena_counts(const struct arena *arena, uint32_t index);
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
