/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector/base/pulse.h"
#include "collector/base/thread_nice.h"

struct jobs {
	const char *name;
	struct jobs_group *group;
	pthread_t thread;
	struct lock lock;
	pthread_cond_t change;
	struct job *first, **last;
	int nice; /* requested nice value of the thread */
	bool running;
	bool closing;
	bool detached; /* the thread frees this struct */
};

/* --- groups --------------------------------------------------------------- */

void jobs_group_init(struct jobs_group *group)
{
	*group = (struct jobs_group){ 0 };
	lock_init(&group->lock, LOCK_JOBS);
	pthread_cond_init(&group->change, NULL);
}

static void count_thread(struct jobs_group *group, int change)
{
	if (!group)
		return;
	lock_acquire(&group->lock);
	group->count += (size_t)change;
	pthread_cond_broadcast(&group->change);
	lock_release(&group->lock);
}

void jobs_group_wait(struct jobs_group *group)
{
	lock_acquire(&group->lock);
	while (group->count)
		lock_wait(&group->lock, &group->change);
	lock_release(&group->lock);
}

/* --- the thread ----------------------------------------------------------- */

/* Waits for the next job. Returns NULL if there are no more. Sets *@nice to the
 * requested nice value. */
static struct job *next_job(struct jobs *jobs, int *nice)
{
	struct job *job;

	lock_acquire(&jobs->lock);
	jobs->running = false;
	if (!jobs->first)
		pthread_cond_broadcast(&jobs->change);
	while (!jobs->first && !jobs->closing)
		lock_wait(&jobs->lock, &jobs->change);
	job = jobs->first;
	if (job) {
		jobs->first = job->next;
		if (!jobs->first)
			jobs->last = &jobs->first;
		jobs->running = true;
	}
	*nice = jobs->nice;
	lock_release(&jobs->lock);
	return job;
}

static void release(struct jobs *jobs)
{
	struct jobs_group *group = jobs->group;

	pthread_cond_destroy(&jobs->change);
	lock_destroy(&jobs->lock);
	free(jobs);
	count_thread(group, -1);
}

static void *run_jobs(void *context)
{
	struct jobs *jobs = context;
	struct job *job;
	int nice;

	pthread_setname_np(pthread_self(), jobs->name);
	while ((job = next_job(jobs, &nice))) {
		thread_nice_raise(nice);
		pulse_begin("does the slow work of a recording");
		job->run(job);
		pulse_end();
	}
	/* Only a job of this thread can have set it, so no lock is needed. */
	if (jobs->detached)
		release(jobs);
	return NULL;
}

int jobs_new(const char *name, struct jobs_group *group, struct jobs **out)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs));
	int err;

	if (!jobs)
		return -ENOMEM;
	jobs->name = name;
	jobs->group = group;
	jobs->last = &jobs->first;
	lock_init(&jobs->lock, LOCK_JOBS);
	pthread_cond_init(&jobs->change, NULL);
	count_thread(group, 1);
	err = pthread_create(&jobs->thread, NULL, run_jobs, jobs);
	if (err) {
		release(jobs);
		return -err;
	}
	*out = jobs;
	return 0;
}

void jobs_free(struct jobs **jobs)
{
	struct jobs *old = *jobs;
	pthread_t thread;

	*jobs = NULL;
	if (!old)
		return;
	thread = old->thread;
	lock_acquire(&old->lock);
	old->closing = true;
	old->detached = pthread_equal(thread, pthread_self());
	pthread_cond_broadcast(&old->change);
	lock_release(&old->lock);
	if (pthread_equal(thread, pthread_self())) {
		pthread_detach(thread);
		return;
	}
	pthread_join(thread, NULL);
	release(old);
}

void jobs_wait(struct jobs *jobs)
{
	lock_acquire(&jobs->lock);
	while (jobs->first || jobs->running)
		lock_wait(&jobs->lock, &jobs->change);
	lock_release(&jobs->lock);
}

void jobs_set_nice(struct jobs *jobs, int nice)
{
	lock_acquire(&jobs->lock);
	jobs->nice = nice;
	lock_release(&jobs->lock);
}

void jobs_post(struct jobs *jobs, struct job *job)
{
	job->next = NULL;
	lock_acquire(&jobs->lock);
	*jobs->last = job;
	jobs->last = &job->next;
	pthread_cond_broadcast(&jobs->change);
	lock_release(&jobs->lock);
}
