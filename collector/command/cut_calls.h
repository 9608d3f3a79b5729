/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_calls - the ranges around calls that a person chose by their function:
 * those that took so long, or the slowest. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_CUT_CALLS_H
#define PERFREC_COLLECTOR_COMMAND_CUT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/cut/cut_ranges.h"
#include "collector/options/call_expression.h"
#include "collector/options/opts.h"
#include "collector/read/time_range.h"

/* A cut has the ranges of so many calls at most: the slowest of them. */
#define CUT_CALLS_MAX 1000u
/* The margin on each side of a call, if none was given: a tenth of it, and this
 * at least. */
#define CUT_MARGIN_LEAST_NS 100000u

/* All zero: none were chosen. */
struct cut_calls {
	const char *option; /* "--around" or "--slowest"; NULL: neither */
	const char *text; /* as it was given */
	struct call_expression expression;
	uint64_t limit; /* how many calls */
	bool has_margin;
	uint64_t margin_ns;
	const char *thread; /* NULL: of any */
};

/* Takes @value if it is --around or --slowest; *@taken says whether. Returns
 * OPTS_GO_ON or OPTS_WRONG. */
int cut_calls_take(struct cut_calls *calls, const struct opts_value *value,
		   bool *taken);

struct cut_calls_found {
	uint64_t matched; /* calls of the recording */
	uint64_t count; /* of these, calls that have a range */
	struct trace_bounds bounds;
};

/* Adds the ranges of the calls of the trace at @path in the folder @dir that
 * have a part in @within. 0; -ESRCH after one line in the log: there are none;
 * or another -errno of reading. */
int cut_calls_find(const struct cut_calls *calls, const char *dir,
		   const char *path, const struct time_range *within,
		   struct cut_ranges *ranges, struct cut_calls_found *found);

#endif
