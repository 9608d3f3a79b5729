/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_figures - reports the kernel's figures of a thread at its end: CPU
 * time, waits for a CPU, page faults (slot_shm.end_...). Other processes can
 * read them only while the thread lives.
 */
#ifndef PERFREC_PRELOAD_START_THREAD_FIGURES_H
#define PERFREC_PRELOAD_START_THREAD_FIGURES_H

/*
 * Writes this thread's figures to its slot, before the thread or the process
 * ends. Does nothing if the collector does not want them, without a slot, or if
 * system calls may kill. A thread that survives (an exec that fails) reports
 * again and replaces them. Keeps errno. Any context.
 */
void thread_figures_tell(void);

#endif
