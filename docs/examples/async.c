/* SPDX-License-Identifier: Apache-2.0
 *
 * async - slices that begin in one thread and end in another, and overlap.
 */
#include <perfrec.h>
#include <pthread.h>

PERFREC_TRACK(g_jobs, "jobs", NULL, 0);

struct job {
	uint64_t slice;
	int number;
};

static void *worker(void *argument)
{
	struct job *jobs = argument;
	int i;

	perfrec_name_thread("worker");
	for (i = 0; i < 2; i++)
		PERFREC_ASYNC_END(&g_jobs, jobs[i].slice, "job", "result",
				  jobs[i].number * 2);
	return NULL;
}

int main(void)
{
	struct job jobs[2];
	pthread_t thread;
	int i;

	for (i = 0; i < 2; i++) {
		jobs[i].number = i;
		jobs[i].slice =
			PERFREC_ASYNC_BEGIN(&g_jobs, 0, "job", "number", i);
	}
	PERFREC_ASYNC_INSTANT(&g_jobs, "all queued");
	if (pthread_create(&thread, NULL, worker, jobs))
		return 1;
	return pthread_join(thread, NULL);
}
