/* SPDX-License-Identifier: Apache-2.0
 *
 * process - one recorded program: an image that said hello, or a child that it
 * forked. process.c describes its life.
 */
#ifndef PERFREC_COLLECTOR_RECORD_PROCESS_H
#define PERFREC_COLLECTOR_RECORD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/options/limits.h"
#include "collector/record/recording.h"

/* The share of a child in the budget of its recording: about its memory,
 * without its own modules. */
#define PROCESS_BYTES 12288

struct address_range;
struct arena;
struct arena_setup;
struct async_slices;
struct call_watches;
struct collector;
struct histograms;
struct kin;
struct modules;
struct process; /* process_inner.h */
struct process_heap;
struct process_locks;
struct process_who;
struct samples;
struct tracks;

/* The constant part of a process. */
struct process_setup {
	struct collector *collector;
	struct arena *arena; /* a reference */
	const struct arena_setup *arena_setup; /* of arena */
	struct modules *modules; /* a reference */
	struct tracks *tracks; /* a reference */
	struct samples *samples; /* a reference; NULL: no samples */
	/* Its contents change, under the recording's lock. */
	struct process_entry *entry;
	pid_t pid; /* in our namespace */
	pid_t inner_pid; /* in its own namespace */
	uint64_t uuid; /* of its track in the trace */
	bool forked; /* a child without a hello */
	bool paid; /* holds PROCESS_BYTES of the recording's budget */
	bool watched; /* counts in the collector's watches */
	/* proc_began() of a running process without a watch, else 0 */
	uint64_t began;
	bool foreign; /* its pid namespace is not ours */
};

/* Parts of a process that higher rooms own. */
struct process_parts {
	/* A reference; under the arena's lock until it is set. NULL: no block
	 * was reported. */
	struct process_heap *heap;
	/* Under the arena's lock until it is set; NULL: none. */
	struct async_slices *slices;
	/* drain/process_locks.c; as slices. */
	struct process_locks *locks;
	/* drain/process_who.c, main thread; NULL: a forked child. */
	struct process_who *who;
	/* Durations of calls: drain/process_durations.c. One per drain worker;
	 * NULL: its threads have made no calls. */
	struct histograms *histograms[DRAIN_WORKERS_MAX];
	/* Functions with triggers: drain/call_watches.c. One per drain worker.
	 */
	struct call_watches *watches[DRAIN_WORKERS_MAX];
};

struct process_ending {
	enum process_end why;
	uint64_t ns; /* BOOTTIME */
	uint64_t exec_flow; /* flow to the next image; 0: none */
};

/* Callbacks for the end of a process. */
struct process_calls {
	/* Its pidfd or process_look() has found that it exited. Main thread. */
	void (*exited)(struct process *process);
	/* All workers have called process_drained(). Jobs thread. */
	void (*drained)(struct process *process);
};

/*
 * Creates a process, not listed yet. Copies @setup; the process takes over its
 * references, its entry, its place in the watches, and @pidfd, which the loop
 * watches. @pidfd -1: the process is gone or unwatched. @calls must outlive the
 * process. Any thread. Returns 0 or -errno; an error leaves ownership with the
 * caller.
 */
int process_new(const struct process_setup *setup, int pidfd,
		const struct process_calls *calls, struct process **out);
/* Frees @process, which is in no list, and whose parts and samples are already
 * released. Any thread. */
void process_free(struct process *process);
/* Releases the references of @setup except samples, its place in the watches,
 * and its share of the budget. Members may be NULL. Any thread. */
void process_setup_release(struct process_setup *setup);

/* Adds @process to the summary of the recording, and to the lists of its arena
 * and of the collector. Under the arena's lock. */
void process_list(struct process *process);
/* Removes @process, which is done, from the lists and the loop. Keeps its state
 * in the arena's family for children that appear later. Main thread; takes both
 * locks. */
void process_unlist(struct process *process);
/* Passes @process, which is summed up, to process_take_done(), and wakes the
 * main thread. Jobs thread. */
void process_done(struct process *process);
/* Returns a process that is done, each only once, or NULL. Main thread. */
struct process *process_take_done(struct collector *collector);

/* Returns the setup of @process; it belongs to @process. Any thread. */
const struct process_setup *process_setup(const struct process *process);
/* Returns true if the summary lists @process; then its entry belongs to the
 * recording. Any thread, after process_list(). */
bool process_is_listed(const struct process *process);
/* Returns the parts of @process; only the owning room changes a pointer. They
 * belong to @process. Any thread. */
struct process_parts *process_parts(struct process *process);

/* Returns the next process in the list of the arena, newest first, or NULL.
 * Under the arena's lock. */
struct process *process_next(const struct process *process);
/* The same in the collector's list of all processes. Under the collector's
 * lock, or on the main thread, which alone removes processes. */
struct process *process_next_all(const struct process *process);

/* Returns the process of @arena with the inner id @inner_pid that is not freed
 * yet, or NULL. Under the arena's lock. */
struct process *process_find_inner(struct arena *arena, pid_t inner_pid);
/* Returns its id in our pid namespace, or 0. Any thread; takes the lock of
 * @arena. */
pid_t process_outer_pid(struct arena *arena, pid_t inner_pid);

/* Returns the id in our pid namespace of the thread of @process with the inner
 * id @inner, or 0 if it has ended. Any thread; may read /proc. */
pid_t process_outer_thread(struct process *process, pid_t inner);

/* Returns the flow from the image that exec() replaced with @process, once; 0:
 * none. The drain worker of its first thread. */
uint64_t process_take_start_flow(struct process *process);
/* Returns the uuid of the track of the resident size of @process. The first
 * call creates it and sets *@first. Under the collector's lock. */
uint64_t process_rss_track(struct process *process, bool *first);
/* Returns the result of map_log_unloaded() for @process. SIZE_MAX: the log is
 * incomplete, so any module may be gone. Any thread. */
size_t process_unloaded(const struct process *process, uint32_t after,
			uint32_t upto, struct address_range *out, size_t room);
/* Notes that @process has called fork(). A drain worker. */
void process_note_fork(struct process *process);

/* Returns the state that a child of @process starts with; the process keeps the
 * references. Under the arena's lock, which guards the name. */
struct kin process_kin(const struct process *process);

/* Marks @process as ending, for the reason @why unless it already has one. The
 * caller then calls drain_kick(), so that drain workers notice. Any thread. */
void process_end(struct process *process, enum process_end why);
/* The same for a process that has called exec(). @flow leads to its new image;
 * 0: the recording does not include that image. */
void process_end_by_exec(struct process *process, uint64_t flow);
/* The same when the recording stops: PROCESS_EXITED if it has exited, else
 * PROCESS_RUNNING. */
void process_stop(struct process *process);
/* Returns how @process ends, or NULL if it is not ending (row ENDING in
 * docs/RING.md). It belongs to @process. Any thread. */
const struct process_ending *process_ending(const struct process *process);
bool process_is_ending(const struct process *process);
/* Returns true if @process is ending because all its threads have stopped, not
 * because we stopped recording it. Any thread. */
bool process_is_gone(const struct process *process);

/* Notes that drain worker @worker of @workers has read all records in its slots
 * after it saw @process ending. After the last worker's call, the call @drained
 * of the process is posted as a job. */
void process_drained(struct process *process, uint32_t worker,
		     uint32_t workers);

/* Returns true after that worker's process_drained(). By that worker. */
bool process_is_drained(const struct process *process, uint32_t worker);

/* Return true if @process has exited, or is running. Both return false if it
 * was gone before process_new(). Read /proc for an unwatched process. Any
 * thread. */
bool process_has_exited(const struct process *process);
bool process_is_running(const struct process *process);
/* Returns the status of the ended @process, as waitid(2) reports it to the
 * parent; -1: the kernel does not report it. Main thread. */
int process_wait_status(const struct process *process);
/* Finds unwatched processes that have exited. Zombies are found only at
 * intervals, because each takes a read of /proc. Cheap if no process is
 * unwatched. Main thread, a few times a second. */
void process_look(struct collector *collector);
/* Returns the process with the id @pid that is not ending, or NULL. Main
 * thread. */
struct process *process_find(struct collector *collector, pid_t pid);

#endif
