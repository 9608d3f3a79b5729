/* SPDX-License-Identifier: Apache-2.0
 *
 * contexts - coroutines by makecontext() and swapcontext(): a ping-pong out of
 * recursions, generators that end into uc_link, threads with contexts of their
 * own, longjmp() within a context. See nesting.h.
 */
#include <setjmp.h>
#include <ucontext.h>

#include "tests/progs/nesting/nesting.h"

#define CONTEXTS 6
#define STACK_BYTES (256 << 10)

static __thread ucontext_t t_main, t_context[CONTEXTS + 1];
static __thread int t_more;

NOINLINE static void leaf(const struct frame *up)
{
	CALLED("leaf");
}

NOINLINE static void make(const struct frame *up, int number,
			  void (*function)(void), ucontext_t *link)
{
	ucontext_t *context = &t_context[number];

	CALLED("make");
	getcontext(context);
	context->uc_stack.ss_sp = malloc(STACK_BYTES);
	context->uc_stack.ss_size = STACK_BYTES;
	context->uc_link = link;
	makecontext(context, function, 1, number);
}

/* Down into the recursion, to the other side, and up again. */
NOINLINE static void volley(const struct frame *up, int depth, int self,
			    int other)
{
	CALLED("volley");
	leaf(&me);
	swapcontext(&t_context[self], &t_context[other]);
	if (depth)
		volley(&me, depth - 1, self, other);
	swapcontext(&t_context[self], &t_context[other]);
	leaf(&me);
}

static void play(int self)
{
	STARTED_CONTEXT("play");
	volley(&me, 20, self, 3 - self);
	leaf(&me);
	/* The first to end leaves for main for good. */
}

NOINLINE static void ping_pong(const struct frame *up)
{
	CALLED("ping_pong");
	make(&me, 1, (void (*)(void))play, &t_main);
	make(&me, 2, (void (*)(void))play, &t_main);
	swapcontext(&t_main, &t_context[1]);
	leaf(&me);
	/* The other one is still in its last volley. */
	swapcontext(&t_main, &t_context[2]);
	leaf(&me);
}

NOINLINE static void yield(const struct frame *up, int self, int depth)
{
	CALLED("yield");
	if (depth)
		yield(&me, self, depth - 1);
	else
		swapcontext(&t_context[self], &t_main);
	leaf(&me);
}

static void generate(int self)
{
	jmp_buf env;
	volatile int i;

	STARTED_CONTEXT("generate");
	for (i = 0; i < self; i++) {
		yield(&me, self, i);
		if (!setjmp(env)) {
			leaf(&me);
			longjmp(env, 1);
		}
	}
	t_more--;
}

NOINLINE static void generators(const struct frame *up)
{
	int i;

	CALLED("generators");
	for (i = 3; i <= CONTEXTS; i++, t_more++)
		make(&me, i, (void (*)(void))generate, &t_main);
	while (t_more)
		for (i = 3; i <= CONTEXTS; i++) {
			int before = t_more;

			if (!t_context[i].uc_link)
				continue;
			swapcontext(&t_main, &t_context[i]);
			leaf(&me);
			if (t_more < before)
				t_context[i].uc_link = NULL;
		}
}

NOINLINE static void come_back(const struct frame *up)
{
	static __thread volatile int times;

	CALLED("come_back");
	times = 0;
	getcontext(&t_main);
	leaf(&me);
	if (times++ < 5)
		setcontext(&t_main);
	leaf(&me);
}

static void *run(void *unused)
{
	STARTED("run");
	ping_pong(&me);
	generators(&me);
	come_back(&me);
	return unused;
}

int main(void)
{
	pthread_t threads[3];
	int i;

	STARTED("main");
	ping_pong(&me);
	generators(&me);
	come_back(&me);
	for (i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
