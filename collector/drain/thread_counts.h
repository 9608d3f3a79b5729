/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_counts - how often a thread called functions of which not all calls
 * were recorded.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_COUNTS_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_COUNTS_H

struct thread;

/* Give the trees of @thread, which has ended, the calls that were only counted
 * (thread->counted): in proportion to those that were recorded, and where none
 * was, below the root. The jobs thread, before the trees are summed up. */
void thread_counts_spread(struct thread *thread);

#endif
