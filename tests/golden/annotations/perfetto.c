/* SPDX-License-Identifier: Apache-2.0
 *
 * perfetto - the traces that Perfetto's guide to synthetic traces shows
 * (docs/reference/synthetic-track-event.md there), event for event: slices of
 * a thread, overlapping ones of a process with others inside, a flow there and
 * back, a counter, a long name that is written once, and tracks in each order.
 */
#include <pthread.h>

#include "preload/perfrec.h"

PERFREC_TRACK(special, "My special track", NULL, 0);
PERFREC_COUNTER(counter, "My special counter", PERFREC_NO_UNIT, 0);
PERFREC_TRACK(root, "Root", NULL, PERFREC_GLOBAL | PERFREC_BY_RANK);
PERFREC_TRACK_WITH(later, "by rank 2", &root, PERFREC_CHRONOLOGICAL, 2, "");
PERFREC_TRACK_WITH(sooner, "by rank 1", &root, PERFREC_LEXICOGRAPHIC, 1, "");
PERFREC_TRACK(b, "b", &sooner, 0);
PERFREC_TRACK(a, "a", &sooner, 0);
PERFREC_TRACK(second, "begun second", &later, 0);
PERFREC_TRACK(first, "begun first", &later, 0);

static void thread_slices(void)
{
	PERFREC_SCOPE("My special parent");
	{
		PERFREC_SCOPE("My special child");
		PERFREC_INSTANT("instant");
	}
}

static void process_slices(void)
{
	PERFREC_ASYNC_BEGIN(&special, 1, "My special parent A"); /* at 200 */
	PERFREC_ASYNC_BEGIN(&special, 2, "My special parent A"); /* 230 */
	PERFREC_ASYNC_BEGIN(&special, 1, "My special child"); /* 250 */
	PERFREC_ASYNC_BEGIN(&special, 2, "My special child"); /* 260 */
	PERFREC_ASYNC_END(&special, 2, "child"); /* 270 */
	PERFREC_ASYNC_END(&special, 1, "child"); /* 290 */
	PERFREC_ASYNC_END(&special, 2, "parent"); /* 295 */
	PERFREC_ASYNC_END(&special, 1, "parent"); /* 300 */
}

static void *background(void *context)
{
	(void)context;
	perfrec_name_thread("Background thr");
	PERFREC_SCOPE("Background work", PERFREC_FLOW, 1055895987);
	return NULL;
}

static void flow(void)
{
	pthread_t thread;

	{
		PERFREC_SCOPE("Request generation", PERFREC_FLOW, 1055895987);
	}
	pthread_create(&thread, NULL, background, NULL);
	pthread_join(thread, NULL);
	PERFREC_SCOPE("Process background result", PERFREC_FLOW, 1055895987);
}

static void slice(struct perfrec_track *track)
{
	PERFREC_ASYNC_BEGIN(track, 1, "work");
	PERFREC_ASYNC_END(track, 1, "work");
}

int main(void)
{
	thread_slices();
	process_slices();
	flow();
	PERFREC_COUNT(&counter, 34567);
	PERFREC_COUNT(&counter, 67890);
	PERFREC_COUNT(&counter, 12345);
	PERFREC_COUNT(&counter, 12345);
	for (int i = 0; i < 2; i++) {
		PERFREC_SCOPE("A very very very long slice name which we "
			      "don't want to repeat");
	}
	slice(&first);
	slice(&second);
	slice(&b);
	slice(&a);
	return 0;
}
