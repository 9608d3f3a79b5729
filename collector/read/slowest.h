/* SPDX-License-Identifier: Apache-2.0
 *
 * slowest - the slowest calls of each function, and how many of its calls began
 * when and took how long. Memory is bounded for any trace. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_SLOWEST_H
#define PERFREC_COLLECTOR_READ_SLOWEST_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/call_arguments.h"
#include "collector/read/time_cells.h"

#define SLOWEST_CALLS 20 /* of a function */
#define SLOWEST_FUNCTIONS 20000

struct slow_call {
	uint64_t begin_ns, took_ns;
	uint64_t waited_ns; /* for the collector, beyond took_ns */
	uint32_t thread, depth;
	bool unfinished; /* it took at least took_ns */
	struct call_arguments *arguments; /* owned; NULL: none */
};

struct slow_function {
	uint32_t name; /* text of the trace */
	uint32_t count, room;
	uint32_t hint; /* for time_cells_get() */
	struct slow_call *calls; /* sorted by slowest_finish() */
	uint64_t least_ns; /* of SLOWEST_CALLS calls */
};

struct slowest {
	struct slow_function *functions;
	uint32_t count, room;
	uint32_t *function_of; /* by text: number + 1; 0: none */
	uint32_t text_room;
	/* The thread of a cell is the number of a function, and its node is
	 * slowest_bar(). A call counts in the bucket of its start. */
	struct time_cells bars;
	uint64_t argument_bytes;
	uint64_t refused; /* calls of functions without room */
};

/* Makes @slowest empty. The caller frees it with slowest_release(). */
void slowest_init(struct slowest *slowest);
/* @slowest may be all zero. */
void slowest_release(struct slowest *slowest);

/* Counts a call of the function @name. Returns its place if it is one of the
 * slowest so far, with its times set, for the caller to set the rest; the place
 * is valid until the next call. Otherwise returns NULL. */
struct slow_call *slowest_add(struct slowest *slowest, uint32_t name,
			      uint64_t begin_ns, uint64_t took_ns);
/* Gives @arguments, which may be NULL, to @call. Frees them if all arguments
 * take too many bytes. */
void slowest_set_arguments(struct slowest *slowest, struct slow_call *call,
			   struct call_arguments *arguments);
/* Sorts the calls of each function, the slowest first, and the bars. */
void slowest_finish(struct slowest *slowest);

/* Returns the number of the bar of a duration: a fourth of an octave. */
static inline uint32_t slowest_bar(uint64_t ns)
{
	unsigned int shift = ns < 4 ? 0 : 61 - (unsigned)__builtin_clzll(ns);

	return shift * 4 + (uint32_t)(ns >> shift);
}

/* Returns the least duration of a bar. */
static inline uint64_t slowest_bar_ns(uint32_t bar)
{
	return bar < 8 ? bar : (uint64_t)(4 + bar % 4) << (bar / 4 - 1);
}

#endif
