/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_durations - how long the calls of a thread took, told to the states of
 * functions while the thread runs: what --overhead decides by.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_DURATIONS_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_DURATIONS_H

struct thread;

/* Tell what has ended since the last call, if somebody wants to know, and it is
 * time. The drain worker of @thread. */
void thread_durations(struct thread *thread);

#endif
