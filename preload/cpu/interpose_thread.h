/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_thread - what interpose_thread.c and its trampoline have of each
 * other.
 */
#ifndef PERFREC_PRELOAD_CPU_INTERPOSE_THREAD_H
#define PERFREC_PRELOAD_CPU_INTERPOSE_THREAD_H

/* What the trampoline jumps to. It is returned in two registers. */
struct thread_start {
	void *function, *argument;
};

/* The trampoline calls this first in a new thread, with what pthread_create()
 * was given. Returns what the program wants to run. */
struct thread_start interpose_thread_begins(void *handover);

/* The trampoline (interpose_thread_*.S). */
void *interpose_thread_start(void *handover);

#endif
