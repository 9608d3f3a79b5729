/* SPDX-License-Identifier: Apache-2.0
 *
 * process_reap - the end of a recorded process (record/process.h): summing up
 * what is left when its threads have ended, and freeing it; and letting go of
 * arenas that nobody has mapped any more.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_REAP_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_REAP_H

struct arena;
struct collector;
struct process;

/* The call @drained of a process (record/process.h): all its threads are summed
 * up. Adds what the process itself has, and hands it to process_reap(). Jobs
 * thread. */
void process_reap_finish(struct process *process);

/* @arena has left the list of @collector. Main thread. */
typedef void arena_left(struct collector *collector, struct arena *arena);

/* Free the processes that are done, and drop the arenas that nobody has mapped
 * any more; @left is called for each of these. Main thread. */
void process_reap(struct collector *collector, arena_left *left);

#endif
