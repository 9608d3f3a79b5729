/* SPDX-License-Identifier: Apache-2.0
 *
 * own_cost - how long the shim's own code takes on this machine. The collector
 * has a copy of the code of preload/ for this and nothing else (Makefile). The
 * copy runs on a ring in private memory; it starts, opens and interposes
 * nothing.
 */
#ifndef PERFREC_SHARED_OWN_COST_H
#define PERFREC_SHARED_OWN_COST_H

#include <stdbool.h>
#include <stdint.h>

enum own_cost_kind {
	OWN_COST_SPAN,
	OWN_COST_GENERAL, /* a span without restartable sequences */
	OWN_COST_DEPTH, /* a span with --depth */
	OWN_COST_TOO_DEEP, /* a span that --depth leaves out */
	OWN_COST_EXCLUDED, /* a span of an excluded function */
	OWN_COST_PAUSED, /* a span in a pause */
	OWN_COST_DROPPED, /* a span that finds its ring full */
	OWN_COST_BLOCK, /* a block: its ALLOC and its FREE */
	OWN_COST_BLOCK_DROPPED, /* a block that finds the ring full */
	OWN_COST_BLOCK_NOT_SAMPLED, /* sampling, and no point lies in it */
	OWN_COST_INSTANT, /* an annotation that is no span */
	OWN_COST_ARGUMENTS, /* a span of an annotation, with three numbers */
	OWN_COST_TEXT, /* such a span, with a text of 20 bytes */
	OWN_COST_KINDS,
};

/*
 * ns that one of @kind takes longer than what is called where nothing is
 * recorded (empty hooks, or the allocator). A span has both its hooks, a block
 * both its wrappers. The least of some tries, about 1 ms in all. The clock is
 * the CPU's counter if @ticks, else clock_gettime(2). One thread of the process
 * at a time.
 */
double own_cost_ns(enum own_cost_kind kind, bool ticks);

/*
 * The two halves of what a span costs, in ns, as its own clock reads see them:
 * they lie inside it. @inner_ns is how much longer a function is measured to
 * take than it does, if it does little; @outer_ns is how long it is from the
 * end of a call to the begin of the next, in a loop that does nothing else. The
 * first is in the time of the function itself, the second in that of its
 * caller. @least_ns is how long a function is measured to take that does
 * nothing. That is more than @inner_ns where reading the clock waits: what the
 * function does meanwhile takes no time.
 */
struct own_cost_halves {
	double inner_ns, outer_ns, least_ns;
};
/* @kind is OWN_COST_SPAN, _GENERAL or _DEPTH; the rest is as for own_cost_ns().
 */
struct own_cost_halves own_cost_halves(enum own_cost_kind kind, bool ticks);

/* ns of a sample of a block, with @stack_bytes of the stack. One thread of the
 * process at a time. */
double own_cost_sample_ns(uint32_t stack_bytes);

#endif
