/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_triggers - calls of a thread that are too long for a trigger
 * (flight/triggers.h): those that have ended, as replay tells them, and those
 * that do not end. The drain worker of the thread.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_TRIGGERS_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_TRIGGERS_H

#include <stdbool.h>
#include <stdint.h>

struct cct_node;
struct replay_sink;
struct thread;

/* Whether rings of @thread have to wait until functions have names, which a
 * trigger asks for. */
bool thread_triggers_need_names(const struct thread *thread);

/* If triggers are of calls: sets what @sink, whose context is @thread, is told
 * of them. Before the thread's replay is made; @worker reads its slot. */
void thread_triggers_begin(struct thread *thread, uint32_t worker,
			   struct replay_sink *sink);
/* A visit of the ring has ended, which began at @ns (CLOCK_BOOTTIME). @quiet:
 * nothing was recorded until then that was not taken in. */
void thread_triggers_visit(struct thread *thread, uint64_t ns, bool quiet);
/* The thread has ended, all its calls were told. */
void thread_triggers_finish(struct thread *thread);

#endif
