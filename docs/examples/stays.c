/* SPDX-License-Identifier: Apache-2.0
 *
 * stays - threads work on an asynchronous slice, one after the other.
 */
#include <perfrec.h>
#include <pthread.h>

PERFREC_TRACK(g_tasks, "tasks", NULL, 0);

static uint64_t g_task;

static void step(int number)
{
	PERFREC_ASYNC_SCOPE(&g_tasks, g_task, "step", "number", number);
	/* ... what the task needs; the thread is inside of it until here. */
}

static void *worker(void *argument)
{
	perfrec_name_thread("worker");
	step(2);
	return argument;
}

int main(void)
{
	pthread_t thread;

	g_task = PERFREC_ASYNC_BEGIN(&g_tasks, 0, "task");
	step(1);
	/* Nobody works on it: the task is idle. */
	if (pthread_create(&thread, NULL, worker, NULL) ||
	    pthread_join(thread, NULL))
		return 1;
	PERFREC_ASYNC_ENTER(&g_tasks, g_task, "answer");
	PERFREC_ASYNC_LEAVE(&g_tasks, g_task, "answer", "status", 200);
	PERFREC_ASYNC_END(&g_tasks, g_task, "task");
	return 0;
}
