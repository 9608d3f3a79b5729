/* SPDX-License-Identifier: Apache-2.0
 *
 * own_cost - what the shim's own code takes on this machine. The code is that
 * of preload/, which the collector has a copy of for this and nothing else
 * (Makefile): it runs on a ring in private memory, and starts, opens and
 * interposes nothing.
 */
#ifndef PERFREC_SHARED_OWN_COST_H
#define PERFREC_SHARED_OWN_COST_H

#include <stdbool.h>
#include <stdint.h>

enum own_cost_kind {
	OWN_COST_SPAN,
	OWN_COST_GENERAL, /* a span without restartable sequences */
	OWN_COST_DEPTH, /* a span with --depth */
	OWN_COST_TOO_DEEP, /* one that --depth leaves out */
	OWN_COST_EXCLUDED,
	OWN_COST_PAUSED,
	OWN_COST_DROPPED, /* a ring is full */
	OWN_COST_BLOCK, /* a block: its ALLOC and its FREE */
	OWN_COST_BLOCK_DROPPED,
	OWN_COST_BLOCK_NOT_SAMPLED,
	OWN_COST_INSTANT, /* an annotation that is no span */
	OWN_COST_ARGUMENTS, /* a span of an annotation, with three numbers */
	OWN_COST_TEXT, /* the same, with a text of 20 bytes */
	OWN_COST_KINDS,
};

/* ns of one of these, with both hooks of a span and both wrappers of a block,
 * over what is called where nothing is recorded: empty hooks, or the allocator.
 * The least of some tries, about 1 ms in all. @ticks: with the counter as
 * clock, else with clock_gettime(2). One thread of the process at a time. */
double own_cost_ns(enum own_cost_kind kind, bool ticks);

/* ns of a sample of a block, with @stack_bytes of its stack. The same. */
double own_cost_sample_ns(uint32_t stack_bytes);

#endif
