/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_figures - what the kernel has counted for this thread, told at its
 * end: CPU time, waits for a CPU, page faults (slot_shm.end_...). From outside
 * that can be read while a thread lives, and no longer.
 */
#ifndef PERFREC_PRELOAD_START_THREAD_FIGURES_H
#define PERFREC_PRELOAD_START_THREAD_FIGURES_H

/*
 * This thread is about to end, or the process with it: put its figures into its
 * slot. Nothing happens where the collector does not ask for them, where the
 * thread has no slot, or where system calls may kill. What was told before is
 * replaced, so a thread that goes on all the same (an exec that fails) tells
 * again. Keeps errno. Any context.
 */
void thread_figures_tell(void);

#endif
