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

struct process {
	struct watch watch; /* of its pidfd; fd -1: none */
	struct collector *collector;
	struct arena *arena; /* a reference */
	struct modules *modules; /* a reference */
	struct process_heap *heap; /* a reference; under the arena's lock until
				    * set; NULL: no block was told of */
	struct samples *samples; /* a reference; NULL: none are taken */
	struct tracks *tracks; /* a reference */
	struct async_slices *slices; /* under the arena's lock until set; NULL:
				      * there were none */
	pid_t pid; /* in our namespace */
	pid_t inner_pid; /* as it sees itself */
	uint64_t uuid;
	uint64_t rss_uuid; /* under the collector's lock: a track; 0: none */
	uint64_t start_flow, exec_flow; /* links to the image before, after */
	struct process_entry *entry; /* fields change under recording's lock */
	bool entry_listed;
	bool forked; /* it did not say hello */
	uint32_t has_forked; /* it called fork(): any worker sets it */
	bool foreign; /* its pid namespace is not ours */
	struct outer_threads threads; /* then, their ids */

	uint32_t ending; /* set once, by process_end() */
	enum process_end ended; /* settled before ending is set */
	uint64_t end_ns;
	uint64_t drained; /* a bit for each drain worker */
	struct job done_job;
	struct process *next; /* of its arena */
	struct process *next_all; /* of the collector */
	struct process *done_next;
};

/* The process of @arena that calls itself @inner_pid, and has not been freed;
 * or NULL. Under the arena's lock. */
struct process *process_find_inner(struct arena *arena, pid_t inner_pid);
/* Our id for the process of @arena that calls itself @inner_pid, or 0. Any
 * thread. */
pid_t process_outer_pid(struct arena *arena, pid_t inner_pid);

/* What a child of @process starts with. References stay the process'. Under the
 * arena's lock, for the name. */
struct kin process_kin(const struct process *process);

/* Mark @process as ending, for the reason @why unless there was one before.
 * Drain workers notice when they next look at it: call drain_kick() after it.
 * Any thread. */
void process_end(struct process *process, enum process_end why);
/* When true, ended and end_ns are settled (row ENDING). Any thread. */
bool process_is_ending(const struct process *process);
/* Whether it is, because all its threads have stopped, other than when we
 * stopped looking. Any thread. */
bool process_is_gone(const struct process *process);

/* Drain worker @worker of @workers has taken in all that @process left in its
 * slots, after it saw it ending. */
void process_drained(struct process *process, uint32_t worker,
		     uint32_t workers);

/* Whether that worker has said so. */
bool process_is_drained(const struct process *process, uint32_t worker);

/* True when a process with a pidfd has exited. */
bool process_has_exited(const struct process *process);
/* The live image of @pid, or NULL. Main thread. */
struct process *process_find(struct collector *collector, pid_t pid);

#endif
