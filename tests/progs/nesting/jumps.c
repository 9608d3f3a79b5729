/* SPDX-License-Identifier: Apache-2.0
 *
 * jumps - leaves functions by longjmp() and siglongjmp(): nested, in loops,
 * into recursive callers, out of handlers on stacks of their own, by copies
 * of a jmp_buf. See nesting.h.
 */
#include <setjmp.h>
#include <signal.h>

#include "tests/progs/nesting/nesting.h"

static sigjmp_buf g_outer, g_inner, g_copy;
static const struct frame *g_interrupted;

NOINLINE static void leaf(const struct frame *up)
{
	CALLED("leaf");
}

NOINLINE static void dive(const struct frame *up, int depth, sigjmp_buf env)
{
	CALLED("dive");
	if (depth)
		dive(&me, depth - 1, env);
	else
		longjmp(env, 1);
	leaf(&me);
}

NOINLINE static void jump_in_a_loop(const struct frame *up)
{
	volatile int i;

	CALLED("jump_in_a_loop");
	for (i = 0; i < 20; i++) {
		if (!setjmp(g_outer))
			dive(&me, i, g_outer);
		leaf(&me);
	}
}

NOINLINE static void set_once(const struct frame *up)
{
	volatile int i = 0;

	CALLED("set_once");
	if (setjmp(g_outer) < 5 && i++ < 5) {
		leaf(&me);
		dive(&me, 3, g_outer);
	}
	leaf(&me);
}

NOINLINE static void jump_past(const struct frame *up)
{
	CALLED("jump_past");
	if (!setjmp(g_inner))
		dive(&me, 2, g_inner);
	leaf(&me);
	dive(&me, 2, g_outer);
}

/* Each level is the same function with a jmp_buf of its own; the deepest one
 * goes back to the @back-th. */
NOINLINE static void recurse(const struct frame *up, int depth, int back,
			     sigjmp_buf *target)
{
	sigjmp_buf env;

	CALLED("recurse");
	if (setjmp(env)) {
		leaf(&me);
		return;
	}
	if (depth)
		recurse(&me, depth - 1, back, depth == back ? &env : target);
	else
		longjmp(*target, 1);
	leaf(&me);
}

NOINLINE static void by_copy(const struct frame *up)
{
	CALLED("by_copy");
	if (!setjmp(g_outer)) {
		memcpy(g_copy, g_outer, sizeof(g_copy));
		dive(&me, 4, g_copy);
	}
	leaf(&me);
}

NOINLINE static void from_handler(const struct frame *up)
{
	CALLED("from_handler");
	leaf(&me);
	siglongjmp(g_outer, 1);
}

NOINLINE static void in_handler(const struct frame *up)
{
	CALLED("in_handler");
	leaf(&me);
	if (!sigsetjmp(g_inner, 0))
		dive(&me, 2, g_inner);
	leaf(&me);
}

/* In the trace, the interrupted function is the handler's caller. */
static void on_signal(int signal)
{
	const struct frame *up = g_interrupted;

	CALLED("on_signal");
	in_handler(&me);
	if (signal == SIGUSR1)
		from_handler(&me);
}

NOINLINE static void interrupted(const struct frame *up, int depth, int signal)
{
	CALLED("interrupted");
	if (depth) {
		interrupted(&me, depth - 1, signal);
	} else {
		g_interrupted = &me;
		raise(signal);
	}
	leaf(&me);
}

NOINLINE static void leave_handlers(const struct frame *up)
{
	volatile int i;

	CALLED("leave_handlers");
	for (i = 0; i < 10; i++) {
		if (!sigsetjmp(g_outer, 1))
			interrupted(&me, i, SIGUSR1);
		leaf(&me);
		interrupted(&me, i, SIGUSR2);
	}
}

NOINLINE static void big_frames(const struct frame *up)
{
	char room[100000];

	CALLED("big_frames");
	__asm__ volatile("" : : "r"(room) : "memory");
	if (!setjmp(g_outer))
		dive(&me, 2, g_outer);
	leaf(&me);
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = malloc(1 << 18), .ss_size = 1 << 18 };
	int i;

	STARTED("main");
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = 0;
	sigaction(SIGUSR2, &action, NULL);
	jump_in_a_loop(&me);
	set_once(&me);
	if (!setjmp(g_outer))
		jump_past(&me);
	leaf(&me);
	for (i = 1; i < 10; i++)
		recurse(&me, 10, i, NULL);
	by_copy(&me);
	leave_handlers(&me);
	big_frames(&me);
	leaf(&me);
	return 0;
}
