/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_triggers - detects calls of a thread that are too long for a trigger
 * (record/triggers.h): ended calls that replay reports, and calls that do not
 * end. The drain worker of the thread.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_TRIGGERS_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_TRIGGERS_H

#include <stdbool.h>
#include <stdint.h>

struct cct_node;
struct replay_sink;
struct thread;

/* Returns true if the rings of @thread must wait for names of functions, which
 * a trigger needs. */
bool thread_triggers_need_names(const struct thread *thread);

/* Sets the calls of @sink, whose context is @thread, if a trigger watches
 * calls. Before the thread's replay is made. @worker reads its slot. */
void thread_triggers_begin(struct thread *thread, uint32_t worker,
			   struct replay_sink *sink);
/* Ends a visit of the ring that began at @ns (CLOCK_BOOTTIME). @quiet: all
 * records from before @ns are read. */
void thread_triggers_visit(struct thread *thread, uint64_t ns, bool quiet);
/* Frees the triggers at the end of the thread, after all its calls were
 * reported. */
void thread_triggers_finish(struct thread *thread);

#endif
