/* SPDX-License-Identifier: Apache-2.0
 *
 * all - every macro and function of perfrec.h once, in the C that is also C++:
 * tests/e2e/annotate/builds.sh compiles it in every way there is. Prints what
 * perfrec_is_recording() says. With -DABORTS it must not be recorded.
 */
#define PERFREC_CATEGORY "all"
#include "perfrec.h"

#include <stdio.h>
#include <stdlib.h>

PERFREC_COUNTER(g_queue, "queue", PERFREC_COUNTS, 0);
PERFREC_COUNTER_TIMES(g_load, "load", "percent",
		      PERFREC_DOUBLE | PERFREC_PER_THREAD, 100);
PERFREC_TRACK(g_jobs, "jobs", NULL, PERFREC_BY_RANK);
PERFREC_TRACK_WITH(g_urgent, "urgent", &g_jobs, PERFREC_NO_MERGE, -1, "first");
PERFREC_STATE_TRACK(g_light, "light", &g_jobs, 0);
PERFREC_HEAP(g_pool, "pool");

static void sixteen(int n, const char *text)
{
	unsigned char byte = 3;
	short small = -1;
	float single = 1.5f;
	long double big = 2;
	bool yes = true;
	char letter = 'x';
	volatile int changing = n;
	const void *pointer = &n;
	int *to_int = &n;

	PERFREC_SCOPE_IN("other", "sixteen", "a", byte, "b", small, "c", single,
			 "d", big, "e", yes, "f", letter, "g", UINT64_MAX, "h",
			 INT64_MIN, "i", pointer, "j", to_int, "k", changing,
			 "l", perfrec_bytes("a\0b", 3), "m", "literal", "n", 1u,
			 "o", 2ull, "p", text);
}

static void tracks(int n, const char *text)
{
	uint64_t made = PERFREC_TRACK_NEW(&g_jobs, text, 0, 3, NULL);
	uint64_t job = PERFREC_ASYNC_BEGIN(&g_urgent, 0, "job", "n", n);

	PERFREC_ASYNC_ENTER(&g_urgent, job, "work", "n", n);
	{
		PERFREC_ASYNC_SCOPE(&g_urgent, job, "work in here", "n", n);
		PERFREC_ASYNC_SCOPE(made, job, "nowhere");
	}
	PERFREC_ASYNC_LEAVE(&g_urgent, job, "work", PERFREC_NAME, text);
	PERFREC_ASYNC_INSTANT(made, "step");
	PERFREC_ASYNC_END(&g_urgent, job, "job");
	PERFREC_STATE(&g_light, "red");
	PERFREC_STATE_END(&g_light);
	perfrec_heap_alloc(&g_pool, text, 16);
	perfrec_heap_free(&g_pool, text);
}

static int all(int n, const char *text)
{
	const struct perfrec_pair pairs[2] = {
		{ "one", PERFREC_VALUE(1) },
		{ "two", PERFREC_VALUE("zwei") },
	};
	perfrec_span span;

	PERFREC_SCOPE("plain");
	PERFREC_SCOPE("args", "n", n, "text", text);
	span = PERFREC_BEGIN("span", PERFREC_NAME, text, PERFREC_FLOW, 7,
			     PERFREC_PAIRS, perfrec_pairs(pairs, 2));
	if (n)
		PERFREC_INSTANT("if");
	else
		PERFREC_INSTANT("else", PERFREC_CORRELATION,
				perfrec_local_id(4));
	PERFREC_MARK("here");
	PERFREC_COUNT(&g_queue, n);
	PERFREC_COUNT_AT(&g_load, 0.5, 12345);
	sixteen(n, text);
	tracks(n, text);
	PERFREC_END(span, "result", n);
	perfrec_end(PERFREC_BEGIN("short"));
	return n;
}

int main(void)
{
	bool recording = perfrec_is_recording();

	perfrec_name_thread("all of it");
#ifdef ABORTS
	PERFREC_SCOPE("never", "x", (abort(), 1));
	PERFREC_INSTANT("never", "x", (abort(), 1));
	PERFREC_COUNT(&g_queue, (abort(), 1));
	perfrec_end(PERFREC_BEGIN("never", "x", (abort(), 1)));
	(void)PERFREC_ASYNC_BEGIN(&g_jobs, (abort(), 1), "never");
	PERFREC_ASYNC_ENTER(&g_jobs, (abort(), 1), "never");
	PERFREC_ASYNC_LEAVE(&g_jobs, 1, "never", "x", (abort(), 1));
	PERFREC_ASYNC_SCOPE(&g_jobs, (abort(), 1), "never");
#endif
	all(0, "text");
	perfrec_pause();
	all(1, "text");
	perfrec_resume();
	perfrec_flush();
	puts(recording ? "recording" : "not recording");
	return 0;
}
