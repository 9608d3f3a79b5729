/* SPDX-License-Identifier: Apache-2.0
 *
 * jobs - one thread that does, in the order they were posted, the things that
 * neither a drain worker nor the main thread may wait for: symbol tables,
 * summing trees up, closing files.
 */
#ifndef PERFREC_COLLECTOR_BASE_JOBS_H
#define PERFREC_COLLECTOR_BASE_JOBS_H

struct jobs;

/* Part of whatever the job is about; the job may free it. */
struct job {
	struct job *next;
	void (*run)(struct job *job);
};

/* 0 or -errno. Starts the thread. */
int jobs_new(struct jobs **out);
/* Runs what was posted, then ends the thread. Nobody may post any more. */
void jobs_free(struct jobs **jobs);
/* Any thread; never waits. Runs @job->run(@job) later. */
void jobs_post(struct jobs *jobs, struct job *job);

#endif
