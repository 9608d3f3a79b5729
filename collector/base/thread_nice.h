/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_nice - the nice value of a thread, which on Linux each has of its own.
 * Processes that a thread starts have the same.
 */
#ifndef PERFREC_COLLECTOR_BASE_THREAD_NICE_H
#define PERFREC_COLLECTOR_BASE_THREAD_NICE_H

#include <sys/types.h>

/* The calling thread becomes as nice as @nice, if it is less so; there is no
 * way back for a user without the right to it. */
void thread_nice_raise(int nice);
/* What the calling thread was last raised to; 0: it never was. */
int thread_nice(void);

/* The nice value of the process @pid; 0 where it cannot be had. */
int thread_nice_of(pid_t pid);

#endif
