/* SPDX-License-Identifier: Apache-2.0
 *
 * jobs - a thread for slow work, such as reading symbol tables, summing up
 * trees and closing files. Other threads post a job and go on; the thread runs
 * jobs in the order in which they were posted. Each recording has one of its
 * own, so that none waits for the files of another.
 */
#ifndef PERFREC_COLLECTOR_BASE_JOBS_H
#define PERFREC_COLLECTOR_BASE_JOBS_H

#include <stddef.h>

#include "collector/base/lock.h"

struct jobs;

/* Threads that somebody waits for together. */
struct jobs_group {
	struct lock lock; /* of all that follows */
	pthread_cond_t change;
	size_t count; /* threads that have not ended */
};

/* A member of whatever the job is about. run() may free it. */
struct job {
	struct job *next; /* jobs.c's */
	void (*run)(struct job *job);
};

void jobs_group_init(struct jobs_group *group);
/* Waits until no thread is in @group. */
void jobs_group_wait(struct jobs_group *group);

/* Starts a thread with the name @name of at most 15 bytes, which must stay, in
 * @group (NULL: in none), which must stay, too. The caller ends *@out with
 * jobs_free(). 0 or -errno. */
int jobs_new(const char *name, struct jobs_group *group, struct jobs **out);
/* Waits until all jobs have run, then ends the thread. Called by a job of its
 * own, it returns at once, and the thread ends when all jobs have run. Nobody
 * may post a job any more. *@jobs may be NULL; it is NULL afterwards. */
void jobs_free(struct jobs **jobs);
/* Waits until all jobs that were posted have run, and those that they posted
 * here. Not for a job. */
void jobs_wait(struct jobs *jobs);
/* The thread becomes as nice as @nice before its next job, if it is less so.
 * Any thread. */
void jobs_set_nice(struct jobs *jobs, int nice);
/* Has the thread call job->run(job) later. Any thread; never waits. */
void jobs_post(struct jobs *jobs, struct job *job);

#endif
