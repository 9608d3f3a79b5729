/* SPDX-License-Identifier: Apache-2.0
 *
 * range_command - options --from and --until of commands that show a part of a
 * recording. For a process of one thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_RANGE_COMMAND_H
#define PERFREC_COLLECTOR_COMMAND_RANGE_COMMAND_H

#include <stdbool.h>

#include "collector/options/opts.h"
#include "collector/read/time_range.h"

/* All zero: not given. */
struct range_command {
	struct time_wish wish;
	const char *from, *to;
	const char *to_name; /* "--until", or its former name "--to" */
};

/* Returns true if @value is --from or --until, which it handles. */
bool range_command_take(struct range_command *command,
			const struct opts_value *value);
bool range_command_given(const struct range_command *command);
/* Returns the given option that selects a part, such as "--from"; also --thread
 * if @thread is not NULL. NULL: none. */
const char *range_command_option(const struct range_command *command,
				 const char *thread);
/* Checks the options together. Returns OPTS_GO_ON, or OPTS_WRONG after one line
 * in the log. */
int range_command_check(const struct range_command *command);

struct trace_index;

/*
 * Reads start and end of the recording in @dir from its trace at @path, with
 * @index as in trace_bounds_read(). Sets *@range to the selected part.
 * @progress: shows a line on the terminal. Returns 0, -EDOM after one line in
 * the log if the recording has no such range, or the error of
 * trace_bounds_read().
 */
int range_command_read(const struct range_command *command, const char *dir,
		       const char *path, const struct trace_index *index,
		       bool progress, struct trace_bounds *bounds,
		       struct time_range *range);
/* As range_command_read(), with a line on the terminal. Without the options it
 * reads nothing, and *@range is all time. */
int range_command_part(const struct range_command *command, const char *dir,
		       const char *path, struct time_range *range);

#endif
