/* SPDX-License-Identifier: Apache-2.0
 *
 * jobs - a thread for slow work, such as reading symbol tables, summing up
 * trees and closing files. Other threads post a job and go on; the thread runs
 * jobs in the order in which they were posted.
 */
#ifndef PERFREC_COLLECTOR_BASE_JOBS_H
#define PERFREC_COLLECTOR_BASE_JOBS_H

struct jobs;

/* A member of whatever the job is about. run() may free it. */
struct job {
	struct job *next; /* jobs.c's */
	void (*run)(struct job *job);
};

/* Starts a thread with the name @name of at most 15 bytes, which must stay. The
 * caller ends *@out with jobs_free(). 0 or -errno. */
int jobs_new(const char *name, struct jobs **out);
/* Waits until all jobs have run, then ends the thread. Nobody may post a job
 * any more. *@jobs may be NULL; it is NULL afterwards. */
void jobs_free(struct jobs **jobs);
/* Has the thread call job->run(job) later. Any thread; never waits. */
void jobs_post(struct jobs *jobs, struct job *job);

#endif
