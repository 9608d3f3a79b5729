/* SPDX-License-Identifier: Apache-2.0
 *
 * range_command - --from and --to (--until) of the commands that show a stretch
 * of a recording: what is wrong with them, and which range they mean. For a
 * process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_RANGE_COMMAND_H
#define PERFREC_COLLECTOR_COMMAND_RANGE_COMMAND_H

#include <stdbool.h>

#include "collector/options/opts.h"
#include "collector/read/time_range.h"

/* All zero: nothing was given. */
struct range_command {
	struct time_wish wish;
	const char *from, *to; /* as they were given */
	const char *to_name; /* "--to" or "--until" */
};

/* Takes @value if it is --from, --to or --until. Returns whether it is. */
bool range_command_take(struct range_command *command,
			const struct opts_value *value);
/* Whether either was given. */
bool range_command_given(const struct range_command *command);
/* The option that chooses a part, "--from", where --thread may do so, too: with
 * @thread. NULL: none was given. */
const char *range_command_option(const struct range_command *command,
				 const char *thread);
/* Checks both together. Returns OPTS_GO_ON, or OPTS_WRONG after one line in the
 * log. */
int range_command_check(const struct range_command *command);

struct trace_index;

/*
 * Reads when the recording in @dir, whose trace is at @path, began and ended,
 * by @index as trace_bounds_read(), and sets *@range to what was given of it.
 * A line on the terminal says how far reading is, if @progress. 0; -EDOM after
 * one line in the log: the recording has no such range; or what
 * trace_bounds_read() returned.
 */
int range_command_read(const struct range_command *command, const char *dir,
		       const char *path, const struct trace_index *index,
		       bool progress, struct trace_bounds *bounds,
		       struct time_range *range);

#endif
