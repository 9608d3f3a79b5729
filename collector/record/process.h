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

#include "collector/options/limits.h"
#include "collector/record/recording.h"

/* What a child takes of the budget of its recording: about as much as it takes
 * of memory, without what it maps itself. */
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
struct samples;
struct tracks;

/* What stays as it is from the begin of a process to its end. */
struct process_setup {
	struct collector *collector;
	struct arena *arena; /* a reference */
	const struct arena_setup *arena_setup; /* its */
	struct modules *modules; /* a reference */
	struct tracks *tracks; /* a reference */
	struct samples *samples; /* a reference; NULL: none are taken */
	struct process_entry *entry; /* what it points to changes, under the
				      * recording's lock */
	pid_t pid; /* in our namespace */
	pid_t inner_pid; /* as it sees itself */
	uint64_t uuid; /* of its track in the trace */
	bool forked; /* it is a child that did not say hello */
	bool paid; /* it has PROCESS_BYTES of the recording's budget */
	bool watched; /* it counts in the collector's watches */
	uint64_t began; /* proc_began(), of one that goes on and is not watched;
			 * else 0 */
	bool foreign; /* its pid namespace is not ours */
};

/* What rooms above keep of a process, each its own. */
struct process_parts {
	struct process_heap *heap; /* a reference; under the arena's lock until
				    * it is set; NULL: no block was told of */
	struct async_slices *slices; /* under the arena's lock until it is set;
				      * NULL: there were none */
	/* Durations of calls: drain/process_durations.c. Each is of one drain
	 * worker; NULL: its threads have called nothing. */
	struct histograms *histograms[DRAIN_WORKERS_MAX];
	/* Functions that have triggers: drain/call_watches.c. The same. */
	struct call_watches *watches[DRAIN_WORKERS_MAX];
};

/* How a process ends. */
struct process_ending {
	enum process_end why;
	uint64_t ns; /* BOOTTIME */
	uint64_t exec_flow; /* flow to the image after it; 0: none */
};

/* Who is told what happens to a process. */
struct process_calls {
	/* Its pidfd says that it has exited, or process_look(). Main thread. */
	void (*exited)(struct process *process);
	/* All workers have called process_drained(). Jobs thread. */
	void (*drained)(struct process *process);
};

/*
 * Begin a process that is in no list yet. @setup is copied; its references and
 * its entry become the process', and its place in the watches. So does @pidfd,
 * which the loop watches; -1: the process is gone already, or not watched.
 * @calls must outlive the process. Any thread. 0 or -errno: then all of that
 * stays the caller's.
 */
int process_new(const struct process_setup *setup, int pidfd,
		const struct process_calls *calls, struct process **out);
/* Free @process, which is in no list, and whose parts and samples have been
 * given back. Any thread. */
void process_free(struct process *process);
/* Give back what @setup refers to, but for samples, its place in the watches,
 * and what it has paid. Members may be NULL. Any thread. */
void process_setup_release(struct process_setup *setup);

/* Put @process into the summary of the recording, and into the lists of its
 * arena and of the collector. Under the arena's lock. */
void process_list(struct process *process);
/* Take @process, which is done, out of the lists and the loop. Children of it
 * that are met later are told by the arena's family what they start with. Main
 * thread; takes the locks of both. */
void process_unlist(struct process *process);
/* Hand @process, which is summed up, to process_take_done(), and wake the main
 * thread. Jobs thread. */
void process_done(struct process *process);
/* A process that is done, or NULL. Each is returned once. Main thread. */
struct process *process_take_done(struct collector *collector);

/* The setup of @process, which lives as long as @process. Any thread. */
const struct process_setup *process_setup(const struct process *process);
/* What rooms above keep of @process; each pointer is changed only by its room.
 * Lives as long as @process. Any thread. */
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
/* What map_log_unloaded() says of @process; SIZE_MAX: anything may be gone, as
 * the log is not whole. Any thread. */
size_t process_unloaded(const struct process *process, uint32_t after,
			uint32_t upto, struct address_range *out, size_t room);
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
 * called it, the call @drained of the process is posted as a job. */
void process_drained(struct process *process, uint32_t worker,
		     uint32_t workers);

/* Whether process_drained() was called for that worker. That worker. */
bool process_is_drained(const struct process *process, uint32_t worker);

/* Whether @process has exited, or has not; both are false if it was gone when
 * it was met. Of one that is not watched /proc is asked. Any thread. */
bool process_has_exited(const struct process *process);
bool process_is_running(const struct process *process);
/* How @process has ended, as waitid(2) would tell its parent; -1: the kernel
 * does not tell. Main thread. */
int process_wait_status(const struct process *process);
/* Look which processes that are not watched have exited: those that were not
 * waited for only at times, as each takes a reading of /proc. Cheap if there
 * are none. Main thread, a few times a second. */
void process_look(struct collector *collector);
/* The process with the id @pid that is not ending, or NULL. Main thread. */
struct process *process_find(struct collector *collector, pid_t pid);

#endif
