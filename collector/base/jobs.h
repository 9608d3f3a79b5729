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

/* Start the thread, which is called @name: at most 15 bytes, and they live on.
 * The caller ends *@out with jobs_free(). 0 or -errno. */
int jobs_new(const char *name, struct jobs **out);
/* Runs what was posted, then ends the thread. Nobody may post any more. */
void jobs_free(struct jobs **jobs);
/* Any thread; never waits. Runs @job->run(@job) later. */
void jobs_post(struct jobs *jobs, struct job *job);

#endif
