/* SPDX-License-Identifier: Apache-2.0
 *
 * process - one program that is recorded: an image that said hello, or a
 * child that such an image forked. See process.c for its life.
 */
#ifndef PERFREC_COLLECTOR_RECORD_PROCESS_H
#define PERFREC_COLLECTOR_RECORD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/jobs.h"
#include "collector/base/loop.h"
#include "collector/names/outer_ids.h"
#include "collector/record/recording.h"

struct arena;
struct async_slices;
struct collector;
struct kin;
struct modules;
struct process_heap;
struct samples;
struct tracks;

/* What stays as it is from the begin of a process to its end. */
struct process_setup {
	struct collector *collector;
	struct arena *arena; /* a reference */
	struct modules *modules; /* a reference */
	struct tracks *tracks; /* a reference */
	struct samples *samples; /* a reference; NULL: none are taken */
	struct process_entry *entry; /* changes under the recording's lock */
	pid_t pid; /* in our namespace */
	pid_t inner_pid; /* as it sees itself */
	uint64_t uuid; /* of its track in the trace */
	bool forked; /* it is a child that did not say hello */
	bool foreign; /* its pid namespace is not ours */
};

/* What rooms above keep of a process, each its own. */
struct process_parts {
	struct process_heap *heap; /* a reference; under the arena's lock until
				    * it is set; NULL: no block was told of */
	struct async_slices *slices; /* under the arena's lock until it is set;
				      * NULL: there were none */
};

/* How a process ends. */
struct process_ending {
	enum process_end why;
	uint64_t ns; /* BOOTTIME */
	uint64_t exec_flow; /* flow to the image after it; 0: none */
};

struct process {
	struct watch watch; /* of its pidfd; fd -1: none */
	struct process_setup setup;
	struct process_parts parts;
	uint64_t rss_uuid; /* of the track of its resident size; 0: none; under
			    * the collector's lock */
	uint64_t start_flow; /* see process_take_start_flow() */
	bool entry_listed; /* then setup.entry is the recording's */
	uint32_t has_forked; /* any worker sets it: it has called fork() */
	struct outer_threads threads; /* ids of its threads, if it is foreign */

	uint32_t ending; /* set once, by process_end() */
	struct process_ending end; /* valid once ending is set */
	uint64_t drained; /* a bit for each drain worker: process_drained() */
	struct job done_job;
	struct process *next; /* of its arena */
	struct process *next_all; /* of the collector */
	struct process *done_next;
};

/* The setup of @process, which lives as long as @process. Any thread. */
const struct process_setup *process_setup(const struct process *process);
struct process_parts *process_parts(struct process *process);

/* The process after @process in the list of its arena, or NULL. The newest
 * comes first. Under the arena's lock. */
struct process *process_next(const struct process *process);
/* The same in the collector's list of all processes. Under the collector's
 * lock, or on the main thread, which alone takes processes out. */
struct process *process_next_all(const struct process *process);

/* The process of @arena that calls itself @inner_pid, and has not been freed;
 * or NULL. Under the arena's lock. */
struct process *process_find_inner(struct arena *arena, pid_t inner_pid);
/* The id in our pid namespace of the process of @arena that calls itself
 * @inner_pid; 0: there is none. Any thread; takes the lock of @arena. */
pid_t process_outer_pid(struct arena *arena, pid_t inner_pid);

/* The id in our pid namespace of the thread of @process that calls itself
 * @inner; 0: it has ended already. Any thread; may read /proc. */
pid_t process_outer_thread(struct process *process, pid_t inner);

/* The flow from the image before @process, which exec() has replaced. 0: there
 * is none, or this has been called before. The drain worker of its first
 * thread. */
uint64_t process_take_start_flow(struct process *process);
/* The uuid of the track of the resident size of @process. The first call makes
 * it up, and sets *@first. Under the collector's lock. */
uint64_t process_rss_track(struct process *process, bool *first);
/* @process has called fork(). A drain worker. */
void process_note_fork(struct process *process);

/* What a child of @process starts with. References stay the process'. Under the
 * arena's lock, for the name. */
struct kin process_kin(const struct process *process);

/* Mark @process as ending, for the reason @why unless there was one before.
 * Drain workers notice when they next look at it: call drain_kick() after it.
 * Any thread. */
void process_end(struct process *process, enum process_end why);
/* The same for a process that has called exec(). @flow leads to its new image;
 * 0: that is not recorded with it. */
void process_end_by_exec(struct process *process, uint64_t flow);
/* The same when we stop recording: for PROCESS_EXITED if it has exited, or else
 * for PROCESS_RUNNING. */
void process_stop(struct process *process);
/* How @process ends; NULL: it is not ending (row ENDING in docs/RING.md). Lives
 * as long as @process. Any thread. */
const struct process_ending *process_ending(const struct process *process);
bool process_is_ending(const struct process *process);
/* Whether @process is ending because all its threads have stopped, and not
 * because we stopped recording it. Any thread. */
bool process_is_gone(const struct process *process);

/* Drain worker @worker of @workers has seen @process ending, and has taken in
 * after that all that the process left in its slots. When all workers have
 * called it, process->done_job is posted. */
void process_drained(struct process *process, uint32_t worker,
		     uint32_t workers);

/* Whether process_drained() was called for that worker. That worker. */
bool process_is_drained(const struct process *process, uint32_t worker);

/* Whether @process has exited, or has not; both are false if it has no pidfd.
 * Any thread. */
bool process_has_exited(const struct process *process);
bool process_is_running(const struct process *process);
/* The process with the id @pid that is not ending, or NULL. Main thread. */
struct process *process_find(struct collector *collector, pid_t pid);

#endif
