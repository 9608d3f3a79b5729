/* SPDX-License-Identifier: Apache-2.0
 *
 * threads - ends threads from deep inside: pthread_exit() and
 * pthread_cancel(), with cleanup handlers and thread-specific destructors that
 * call functions. See nesting.h.
 *
 * Without -fexceptions the C library goes to cleanup handlers by a jump of its
 * own that nobody can see: there, threads with handlers only return.
 */
#include "tests/progs/nesting/nesting.h"

enum way { EXITS, CANCELS, RETURNS };

static pthread_key_t g_key;

NOINLINE static void leaf(const struct frame *up)
{
	CALLED("leaf");
}

NOINLINE static void end(const struct frame *up, int depth, enum way way)
{
	CALLED("end");
	if (depth) {
		end(&me, depth - 1, way);
	} else if (way == EXITS) {
		pthread_exit(NULL);
	} else if (way == CANCELS) {
		pthread_cancel(pthread_self());
		pthread_testcancel();
	}
	leaf(&me);
}

/* Called by the function that pushed it, wherever control came from. */
static void clean(void *caller)
{
	const struct frame *up = (const struct frame *)caller;

	CALLED("clean");
	leaf(&me);
}

NOINLINE static void guarded(const struct frame *up, int depth, enum way way)
{
	CALLED("guarded");
	pthread_cleanup_push(clean, &me);
	if (depth)
		guarded(&me, depth - 1, way);
	else
		end(&me, 3, way);
	pthread_cleanup_pop(1);
	leaf(&me);
}

/* After the thread's function, whichever way that ended. */
static void destroy(void *unused)
{
	(void)unused;
	STARTED("destroy");
	leaf(&me);
}

static void *run_bare(void *way)
{
	STARTED("run_bare");
	pthread_setspecific(g_key, &me);
	end(&me, 5, (enum way)(long)way);
	return NULL;
}

static void *run_guarded(void *way)
{
	STARTED("run_guarded");
	guarded(&me, 3, (enum way)(long)way);
	leaf(&me);
	return NULL;
}

int main(void)
{
	static void *(*const runs[])(void *) = { run_bare, run_guarded };
	pthread_t thread;
	long way;
	int i;

	STARTED("main");
	pthread_key_create(&g_key, destroy);
	for (way = EXITS; way <= RETURNS; way++)
		for (i = 0; i < 2; i++) {
#if !defined(__EXCEPTIONS)
			if (i && way != RETURNS)
				continue;
#endif
			pthread_create(&thread, NULL, runs[i], (void *)way);
			pthread_join(thread, NULL);
		}
	return 0;
}
