/* SPDX-License-Identifier: Apache-2.0
 *
 * async - slices of no thread: begun on one and ended on another, overlapping,
 * inside each other, ended twice, never ended, never begun.
 */
#include <pthread.h>

#include "preload/perfrec.h"

PERFREC_TRACK(requests, "requests", NULL, 0);

static void *finish(void *context)
{
	(void)context;
	PERFREC_ASYNC_END(&requests, 1, "request", "status", 200);
	PERFREC_ASYNC_END(&requests, 2, "request", "status", 404);
	PERFREC_ASYNC_END(&requests, 2, "request", "twice", true);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	PERFREC_ASYNC_BEGIN(&requests, 1, "request", "path", "/a");
	PERFREC_ASYNC_BEGIN(&requests, 2, "request", "path", "/b");
	PERFREC_ASYNC_BEGIN(&requests, 1, "inside");
	PERFREC_ASYNC_INSTANT(&requests, "moment", "n", 1);
	PERFREC_ASYNC_END(&requests, 1, "inside");
	pthread_create(&thread, NULL, finish, NULL);
	pthread_join(thread, NULL);
	PERFREC_ASYNC_END(&requests, 99, "request");
	PERFREC_ASYNC_BEGIN(&requests, 3, "request", "again", true);
	PERFREC_ASYNC_END(&requests, 3, "request");
	PERFREC_ASYNC_BEGIN(PERFREC_PROCESS_TRACK, 4, "of the process");
	PERFREC_ASYNC_END(PERFREC_PROCESS_TRACK, 4, "of the process");
	PERFREC_ASYNC_BEGIN(&requests, 5, "left open");
	return 0;
}
