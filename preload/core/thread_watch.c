/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/core/thread_watch.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>

#include "preload/core/libc.h"
#include "preload/core/thread.h"

/* For higher keys pthread_setspecific() allocates (glibc). */
#define KEYS_WITHOUT_MALLOC 32

static struct {
	pthread_key_t first, last; /* in the order of their destructors */
	bool have_first, have_last;
	void (*left)(void);
	void (*over)(void);
} g_watch;

static void first_destructor(void *value)
{
	(void)value;
	g_watch.left();
}

static void last_destructor(void *value)
{
	if (++t_thread.destructor_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		libc()->setspecific(g_watch.last, value);
	else
		g_watch.over();
}

/* Makes the first free key, if setting it needs no allocation. */
static bool make_first_key(void)
{
	if (libc()->key_create(&g_watch.first, first_destructor))
		return false;
	if (g_watch.first < KEYS_WITHOUT_MALLOC)
		return true;
	libc()->key_delete(g_watch.first);
	return false;
}

/* Makes the highest free key that needs no allocation. */
static bool make_last_key(void)
{
	pthread_key_t key, spare[KEYS_WITHOUT_MALLOC];
	uint32_t spares = 0;
	bool found = false;

	while (spares < KEYS_WITHOUT_MALLOC &&
	       libc()->key_create(&key, last_destructor) == 0) {
		if (key >= KEYS_WITHOUT_MALLOC) {
			libc()->key_delete(key);
			break;
		}
		if (found)
			spare[spares++] = g_watch.last;
		g_watch.last = key;
		found = true;
	}
	for (uint32_t i = 0; i < spares; i++)
		libc()->key_delete(spare[i]);
	return found;
}

void thread_watch_init(void (*left)(void), void (*over)(void))
{
	g_watch.left = left;
	g_watch.over = over;
	g_watch.have_first = make_first_key();
	g_watch.have_last = make_last_key();
}

bool thread_watch_over(void)
{
	return g_watch.have_last &&
	       libc()->setspecific(g_watch.last, &g_watch) == 0;
}

void thread_watch(void)
{
	if (g_watch.have_first)
		libc()->setspecific(g_watch.first, &g_watch);
	thread_watch_over();
}
