/* SPDX-License-Identifier: Apache-2.0
 *
 * call_wish - the criteria of a search of calls.
 */
#ifndef PERFREC_COLLECTOR_READ_CALL_WISH_H
#define PERFREC_COLLECTOR_READ_CALL_WISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/time_range.h"

struct argument_conditions;

/* Limits of kept calls, and of the bytes of their arguments. */
#define CALL_SEARCH_MAX (1u << 20)
#define CALL_SEARCH_ARGUMENT_BYTES (UINT64_C(256) << 20)

/* Durations are those of whole calls, even if the range cuts a call. */
struct call_wish {
	const char *function; /* full name, or a glob (name_pattern.h) */
	uint64_t min_ns, max_ns; /* inclusive limits of the duration */
	struct time_range range; /* the call overlaps it */
	const char *thread; /* number or name of a thread; NULL: all */
	const char *trace_id; /* 32 hexadecimal digits: the thread worked on
			       * this request when the call began; NULL: any */
	/* All must hold; NULL: none. */
	const struct argument_conditions *conditions;
	size_t limit; /* calls to keep; 0: up to CALL_SEARCH_MAX */
	bool by_time; /* keep the first calls, not the longest */
};

#endif
