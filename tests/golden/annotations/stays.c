/* SPDX-License-Identifier: Apache-2.0
 *
 * stays - threads that enter and leave asynchronous slices: one after the
 * other, two at once, twice, over the end of the slice, over the end of the
 * thread; and what makes no sense.
 */
#include <pthread.h>

#include "preload/perfrec.h"

PERFREC_TRACK(tasks, "tasks", NULL, 0);

static void run_thread(void *(*run)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
}

static void *stay(void *context)
{
	perfrec_name_thread("second");
	{
		PERFREC_ASYNC_SCOPE(&tasks, 1, "beside", "n", 2);
	}
	return context;
}

static void *enter(void *context)
{
	perfrec_name_thread("third");
	PERFREC_ASYNC_ENTER(&tasks, 1, "not left");
	return context;
}

static void *end(void *context)
{
	perfrec_name_thread("fourth");
	PERFREC_ASYNC_END(&tasks, 3, "ended by another");
	return context;
}

int main(void)
{
	perfrec_name_thread("first");
	PERFREC_ASYNC_BEGIN(&tasks, 1, "task");
	PERFREC_ASYNC_ENTER(&tasks, 1, "poll", PERFREC_NAME, "poll 1");
	PERFREC_ASYNC_ENTER(&tasks, 1, "again");
	run_thread(stay);
	PERFREC_ASYNC_LEAVE(&tasks, 1, "again");
	PERFREC_ASYNC_LEAVE(&tasks, 1, "poll", "ready", false);
	PERFREC_ASYNC_BEGIN(&tasks, 2, "never entered");
	run_thread(enter);
	PERFREC_ASYNC_ENTER(&tasks, 0, "handle 0");
	PERFREC_ASYNC_ENTER(&tasks, 99, "not open");
	PERFREC_ASYNC_LEAVE(&tasks, 2, "not inside");
	PERFREC_ASYNC_END(&tasks, 2, "never entered");
	PERFREC_ASYNC_END(&tasks, 1, "task");
	PERFREC_ASYNC_BEGIN(&tasks, 3, "ended by another");
	PERFREC_ASYNC_ENTER(&tasks, 3, "still inside");
	run_thread(end);
	PERFREC_ASYNC_LEAVE(&tasks, 3, "too late");
	return 0;
}
