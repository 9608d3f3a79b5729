/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_thread - shared by interpose_thread.c and its trampoline.
 */
#ifndef PERFREC_PRELOAD_CPU_INTERPOSE_THREAD_H
#define PERFREC_PRELOAD_CPU_INTERPOSE_THREAD_H

/* The function that the trampoline jumps to. Returned in two registers. */
struct thread_start {
	void *function, *argument;
};

/* Makes the new thread's timer and frees @handover, the argument of the thread.
 * Returns the program's function. The trampoline calls it first. */
struct thread_start interpose_thread_begins(void *handover);

void *interpose_thread_start(void *handover);

#endif
