/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_durations - reports the durations of a thread's calls to the states of
 * functions while the thread runs. --overhead decides by these reports.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_DURATIONS_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_DURATIONS_H

struct thread;

/* Reports the calls that ended since the last report, if the states want
 * durations and the pause is over. The drain worker of @thread. */
void thread_durations(struct thread *thread);

#endif
