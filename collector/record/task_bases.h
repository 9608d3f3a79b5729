/* SPDX-License-Identifier: Apache-2.0
 *
 * task_bases - the CPU times and page faults of a program's threads at its
 * hello, when their recording began. Later threads begin with zero. Created on
 * the main thread, then read by any.
 */
#ifndef PERFREC_COLLECTOR_RECORD_TASK_BASES_H
#define PERFREC_COLLECTOR_RECORD_TASK_BASES_H

#include <stdbool.h>
#include <sys/types.h>

#include "collector/base/task_times.h"

struct task_bases;

/*
 * Reads /proc for the first 256 threads of process @pid, which takes 5 ms.
 * @said has user and system time and page faults that thread @tid reports of
 * itself. They are used if they agree with /proc, which rounds times down to 10
 * ms. The caller frees the result with task_bases_free(). NULL: unknown.
 */
struct task_bases *task_bases_new(pid_t pid, pid_t tid,
				  const struct task_times *said);
void task_bases_free(struct task_bases **bases);

/* Sets *@out to the figures of thread @tid, or to all 0 if it did not exist.
 * Returns false if they are unknown: too many threads, or @bases is NULL. */
bool task_bases_find(const struct task_bases *bases, pid_t tid,
		     struct task_times *out);

#endif
