/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_thread - between interpose_thread.c and its trampoline.
 */
#ifndef PERFREC_PRELOAD_CPU_INTERPOSE_THREAD_H
#define PERFREC_PRELOAD_CPU_INTERPOSE_THREAD_H

/* What the trampoline jumps to: returned in two registers. */
struct thread_start {
	void *function, *argument;
};

/* The first that a thread of ours calls. */
struct thread_start interpose_thread_begins(void *handover);

/* interpose_thread_*.S: calls that, and jumps where it says. */
void *interpose_thread_start(void *handover);

#endif
