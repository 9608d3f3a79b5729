/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_nice - the nice value of a thread; on Linux each thread has its own.
 * Processes that a thread starts inherit it.
 */
#ifndef PERFREC_COLLECTOR_BASE_THREAD_NICE_H
#define PERFREC_COLLECTOR_BASE_THREAD_NICE_H

#include <sys/types.h>

/* Raises the calling thread's nice value to @nice if it is lower. An
 * unprivileged user cannot undo this. */
void thread_nice_raise(int nice);
int thread_nice(void);

/* Returns the nice value of process @pid, or 0 if unknown. */
int thread_nice_of(pid_t pid);

#endif
