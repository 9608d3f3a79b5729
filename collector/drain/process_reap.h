/* SPDX-License-Identifier: Apache-2.0
 *
 * process_reap - ends recorded processes (record/process.h): sums up the rest
 * after the last thread and frees the process. Drops arenas that no process
 * maps any more.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_REAP_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_REAP_H

struct arena;
struct collector;
struct process;

/* The call @drained of a process (record/process.h), after all its threads are
 * summed up. Adds the data of the process itself, and hands the process to
 * process_reap(). Jobs thread. */
void process_reap_finish(struct process *process);

/* Called for an arena that has left the list of @collector. Main thread. */
typedef void arena_left(struct collector *collector, struct arena *arena);

/* Frees the processes that are done and drops the arenas that no process maps;
 * calls @left for each dropped arena. Main thread. */
void process_reap(struct collector *collector, arena_left *left);

#endif
