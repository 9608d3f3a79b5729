/* SPDX-License-Identifier: Apache-2.0
 *
 * deep - three times 100,000 calls deep, and back by return, by longjmp() and
 * by an exception.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#define DEPTH 100000
#define STACK_BYTES (256UL << 20)

static jmp_buf g_env;
static volatile int g_calls;

extern "C" __attribute__((noinline)) void after_return(void)
{
	g_calls = g_calls + 1;
}

extern "C" __attribute__((noinline)) void after_jump(void)
{
	g_calls = g_calls + 1;
}

extern "C" __attribute__((noinline)) void after_catch(void)
{
	g_calls = g_calls + 1;
}

extern "C" __attribute__((noinline)) void down(int depth, int way)
{
	if (depth > 1)
		down(depth - 1, way);
	else if (way == 1)
		longjmp(g_env, 1);
	else if (way == 2)
		throw 1;
	g_calls = g_calls + 1;
}

extern "C" void *run(void *unused)
{
	down(DEPTH, 0);
	after_return();
	if (!setjmp(g_env))
		down(DEPTH, 1);
	after_jump();
	try {
		down(DEPTH, 2);
	} catch (int) {
	}
	after_catch();
	return unused;
}

int main()
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, STACK_BYTES) ||
	    pthread_create(&thread, &attributes, run, NULL) ||
	    pthread_join(thread, NULL))
		abort();
	return g_calls < 0;
}
