/* SPDX-License-Identifier: Apache-2.0
 *
 * request_contexts - two contexts of a thread work on a request each. The slice
 * of the first request ends while that of the second goes on.
 */
#include <perfrec.h>
#include <stdlib.h>
#include <ucontext.h>

#define SPAN "00f067aa0ba902b7"
#define HEADER(digit) "00-" digit "bf92f3577b34da6a3ce929d0e0e4736-" SPAN "-01"

static ucontext_t g_main, g_first, g_second;

__attribute__((noinline)) static void before(void)
{
	PERFREC_INSTANT("before");
}

__attribute__((noinline)) static void in_first(void)
{
	PERFREC_INSTANT("in_first");
}

__attribute__((noinline)) static void in_second(void)
{
	PERFREC_INSTANT("in_second");
}

__attribute__((noinline)) static void again(void)
{
	PERFREC_INSTANT("again");
}

__attribute__((noinline)) static void beside(void)
{
	PERFREC_INSTANT("beside");
}

__attribute__((noinline)) static void after_first(void)
{
	PERFREC_INSTANT("after_first");
}

__attribute__((noinline)) static void after(void)
{
	PERFREC_INSTANT("after");
}

static void run_first(void)
{
	{
		PERFREC_SCOPE("first", "traceparent", HEADER("1"));
		in_first();
		swapcontext(&g_first, &g_main);
	}
	after_first();
	swapcontext(&g_first, &g_main);
}

static void run_second(void)
{
	{
		PERFREC_SCOPE("second", "traceparent", HEADER("2"));
		in_second();
		swapcontext(&g_second, &g_main);
		again();
	}
	swapcontext(&g_second, &g_main);
}

static void make(ucontext_t *context, void (*run)(void))
{
	const size_t bytes = 256 << 10;

	getcontext(context);
	context->uc_stack.ss_sp = malloc(bytes);
	context->uc_stack.ss_size = bytes;
	context->uc_link = &g_main;
	makecontext(context, run, 0);
}

int main(void)
{
	before();
	make(&g_first, run_first);
	make(&g_second, run_second);
	swapcontext(&g_main, &g_first);
	swapcontext(&g_main, &g_second);
	swapcontext(&g_main, &g_first); /* ends the slice of the first */
	beside();
	swapcontext(&g_main, &g_second);
	after();
	return 0;
}
