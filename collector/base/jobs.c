/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/jobs.h"
#include "collector/base/lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct jobs {
	const char *name; /* of its thread */
	pthread_t thread;
	struct lock lock;
	pthread_cond_t change;
	struct job *first, **last;
	bool closing;
};

/* Waits for the next job; NULL: there will be none any more. */
static struct job *next_job(struct jobs *jobs)
{
	struct job *job;

	lock_acquire(&jobs->lock);
	while (!jobs->first && !jobs->closing)
		lock_wait(&jobs->lock, &jobs->change);
	job = jobs->first;
	if (job) {
		jobs->first = job->next;
		if (!jobs->first)
			jobs->last = &jobs->first;
	}
	lock_release(&jobs->lock);
	return job;
}

static void *run_jobs(void *context)
{
	struct jobs *jobs = context;
	struct job *job;

	pthread_setname_np(pthread_self(), jobs->name);
	while ((job = next_job(jobs)))
		job->run(job);
	return NULL;
}

int jobs_new(const char *name, struct jobs **out)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs));
	int err;

	if (!jobs)
		return -ENOMEM;
	jobs->name = name;
	jobs->last = &jobs->first;
	lock_init(&jobs->lock, LOCK_JOBS);
	pthread_cond_init(&jobs->change, NULL);
	err = pthread_create(&jobs->thread, NULL, run_jobs, jobs);
	if (err) {
		free(jobs);
		return -err;
	}
	*out = jobs;
	return 0;
}

void jobs_free(struct jobs **jobs)
{
	struct jobs *old = *jobs;

	*jobs = NULL;
	if (!old)
		return;
	lock_acquire(&old->lock);
	old->closing = true;
	pthread_cond_signal(&old->change);
	lock_release(&old->lock);
	pthread_join(old->thread, NULL);
	pthread_cond_destroy(&old->change);
	lock_destroy(&old->lock);
	free(old);
}

void jobs_post(struct jobs *jobs, struct job *job)
{
	job->next = NULL;
	lock_acquire(&jobs->lock);
	*jobs->last = job;
	jobs->last = &job->next;
	pthread_cond_signal(&jobs->change);
	lock_release(&jobs->lock);
}
