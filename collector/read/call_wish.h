/* SPDX-License-Identifier: Apache-2.0
 *
 * call_wish - which calls of a trace a search is for.
 */
#ifndef PERFREC_COLLECTOR_READ_CALL_WISH_H
#define PERFREC_COLLECTOR_READ_CALL_WISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/time_range.h"

/* So many calls are kept at most, and so many bytes of their arguments. */
#define CALL_SEARCH_MAX (1u << 20)
#define CALL_SEARCH_ARGUMENT_BYTES (UINT64_C(256) << 20)

/* Which calls. Their durations are from begin to end, wherever the range
 * begins and ends. */
struct call_wish {
	const char *function; /* its full name, or a glob (name_pattern.h) */
	uint64_t min_ns, max_ns; /* of the duration, both included */
	struct time_range range; /* of which the call has a part */
	const char *thread; /* the number of a thread, or its name; NULL: all */
	size_t limit; /* how many to keep; 0: all, up to CALL_SEARCH_MAX */
	bool by_time; /* keep the first ones, not the longest */
};

#endif
