/* SPDX-License-Identifier: Apache-2.0
 *
 * jobs - a thread for slow work, such as reading symbol tables, summing up
 * trees and closing files. Other threads post jobs and continue; the thread
 * runs the jobs in order. Each recording has its own, so that no recording
 * waits for the files of another.
 */
#ifndef PERFREC_COLLECTOR_BASE_JOBS_H
#define PERFREC_COLLECTOR_BASE_JOBS_H

#include <stddef.h>

#include "collector/base/lock.h"

struct jobs;

/* Threads whose end is awaited together. */
struct jobs_group {
	struct lock lock;
	pthread_cond_t change;
	size_t count;
};

/* A member of the job's own struct. run() may free it. */
struct job {
	struct job *next; /* private to jobs.c */
	void (*run)(struct job *job);
};

void jobs_group_init(struct jobs_group *group);
void jobs_group_wait(struct jobs_group *group);

/* Starts a thread with the name @name (at most 15 bytes) in @group, or in no
 * group if NULL. Both must outlive *@out, which the caller ends with
 * jobs_free(). Returns 0 or -errno. */
int jobs_new(const char *name, struct jobs_group *group, struct jobs **out);
/* Waits until all jobs have run, then ends the thread and sets *@jobs, which
 * may be NULL, to NULL. If one of its own jobs calls this, it returns at once
 * and the thread ends after the last job. No thread may post a job any more. */
void jobs_free(struct jobs **jobs);
/* Waits until all posted jobs have run, including jobs that these jobs posted
 * here. Must not be called by a job. */
void jobs_wait(struct jobs *jobs);
/* Raises the thread's nice value to @nice before its next job; never lowers it.
 * Any thread. */
void jobs_set_nice(struct jobs *jobs, int nice);
/* Queues @job. Any thread; never waits. */
void jobs_post(struct jobs *jobs, struct job *job);

#endif
