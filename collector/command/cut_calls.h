/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_calls - the ranges around calls of a function: calls longer than a time,
 * or the slowest. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CUT_CALLS_H
#define PERFREC_COLLECTOR_COMMAND_CUT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/cut/cut_ranges.h"
#include "collector/options/call_expression.h"
#include "collector/options/opts.h"
#include "collector/read/time_range.h"

/* Limit of ranges in a cut: the slowest calls. */
#define CUT_CALLS_MAX 1000u
/* Default margin on each side of a call: a tenth of it, but at least this. */
#define CUT_MARGIN_LEAST_NS 100000u

/* All zero: none. */
struct cut_calls {
	const char *option; /* "--around" or "--slowest"; may be NULL */
	const char *text;
	struct call_expression expression;
	uint64_t limit; /* number of calls */
	bool has_margin;
	uint64_t margin_ns;
	const char *thread; /* NULL: any */
};

/* Handles --around and --slowest. Sets *@taken to true for these options.
 * Returns OPTS_GO_ON or OPTS_WRONG. */
int cut_calls_take(struct cut_calls *calls, const struct opts_value *value,
		   bool *taken);

struct cut_calls_found {
	uint64_t matched; /* calls in the recording */
	uint64_t count; /* of these, calls with a range */
	struct trace_bounds bounds;
};

/* Adds the ranges of the calls in the trace at @path, in the folder @dir, that
 * overlap @within. Returns 0, -ESRCH after one line in the log if there are
 * none, or another -errno of reading. */
int cut_calls_find(const struct cut_calls *calls, const char *dir,
		   const char *path, const struct time_range *within,
		   struct cut_ranges *ranges, struct cut_calls_found *found);

#endif
