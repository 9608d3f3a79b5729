/* SPDX-License-Identifier: Apache-2.0
 *
 * own_cost - measures how long the shim's own code takes on this machine. Only
 * for this, the collector links a copy of the code in preload/ (Makefile). The
 * copy writes to a ring in private memory; it starts no thread, opens no file
 * and interposes no function.
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
 * Returns the ns that one event of @kind adds to the same event without
 * recording (empty hooks, or the allocator alone). A span includes both hooks,
 * a block both wrappers. The result is the least of several tries; they take
 * about 1 ms. @ticks chooses the CPU's counter as the clock, else
 * clock_gettime(2) is. Only one thread of the process may call this at a time.
 */
double own_cost_ns(enum own_cost_kind kind, bool ticks);

/*
 * The cost of a span in ns, divided at its two clock reads.
 *
 * @inner_ns lies between them: a short function is measured that much too long.
 * @outer_ns lies outside: the time from the end of one call to the start of the
 * next, in a loop that does nothing else. It adds to the time of the caller.
 * @least_ns is the measured duration of an empty function. It is more than
 * @inner_ns where the clock read waits, as a function's own work overlaps with
 * that wait.
 */
struct own_cost_halves {
	double inner_ns, outer_ns, least_ns;
};
/* @kind is OWN_COST_SPAN, _GENERAL or _DEPTH; otherwise as own_cost_ns(). */
struct own_cost_halves own_cost_halves(enum own_cost_kind kind, bool ticks);

/* Returns the ns that a sample of a block takes with @stack_bytes of the stack.
 * Only one thread of the process may call this at a time. */
double own_cost_sample_ns(uint32_t stack_bytes);

#endif
