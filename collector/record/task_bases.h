/* SPDX-License-Identifier: Apache-2.0
 *
 * task_bases - what the threads of a program had had of the machine when it
 * said hello, and the recording of them began. Threads that come later begin
 * with nothing. Made on the main thread, then read by any.
 */
#ifndef PERFREC_COLLECTOR_RECORD_TASK_BASES_H
#define PERFREC_COLLECTOR_RECORD_TASK_BASES_H

#include <stdbool.h>
#include <sys/types.h>

#include "collector/base/task_times.h"

struct task_bases;

/*
 * Reads /proc for the first threads of process @pid: of 256, which takes 5 ms.
 * Thread @tid of it has said of itself what is in @said: user and system time,
 * and page faults. That is believed where it is what /proc says, which cuts
 * times to 10 ms. The caller frees it with task_bases_free(). NULL: nobody
 * knows.
 */
struct task_bases *task_bases_new(pid_t pid, pid_t tid,
				  const struct task_times *said);
void task_bases_free(struct task_bases **bases);

/* Sets *@out to what thread @tid had had; to all 0 if it was not there. False:
 * nobody knows, as there were too many, or @bases is NULL. */
bool task_bases_find(const struct task_bases *bases, pid_t tid,
		     struct task_times *out);

#endif
