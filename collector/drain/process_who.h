/* SPDX-License-Identifier: Apache-2.0
 *
 * process_who - reads who a program is (record/who.h), on the jobs thread: at
 * its start, and again at intervals, because a program may publish its context
 * later.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_WHO_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_WHO_H

struct collector;
struct process;
struct process_who;

/* Starts the looks at @process, which has said hello and is in all lists.
 * Without memory it does nothing. Main thread. */
void process_who_begin(struct process *process);
/* Posts a look at each program whose pause is over. Main thread, a few times a
 * second. */
void process_who_look(struct collector *collector);
/* Ends the looks when the process ends; a running look goes on. Main thread;
 * accepts NULL. */
void process_who_end(struct process_who **who);

#endif
