/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/range_command.h"

#include <errno.h>

#include "collector/base/log.h"
#include "collector/read/trace_bounds.h"
#include "collector/show/progress.h"

bool range_command_take(struct range_command *command,
			const struct opts_value *value)
{
	switch (value->id) {
	case OPT_CALL_FROM:
		command->wish.has_from = true;
		command->wish.from_ns = value->number;
		command->from = value->text;
		return true;
	case OPT_CALL_TO:
	case OPT_CALL_UNTIL:
		command->wish.has_to = true;
		command->wish.to_ns = value->number;
		command->to = value->text;
		command->to_name = value->name;
		return true;
	default:
		return false;
	}
}

bool range_command_given(const struct range_command *command)
{
	return command->wish.has_from || command->wish.has_to;
}

const char *range_command_option(const struct range_command *command,
				 const char *thread)
{
	if (command->from)
		return "--from";
	if (command->to)
		return command->to_name;
	return thread ? "--thread" : NULL;
}

int range_command_check(const struct range_command *command)
{
	const char *from = command->from ? command->from : "0s";

	switch (time_wish_check(&command->wish)) {
	case TIME_RANGE_REVERSED:
		log_err("%s '%.100s': that is before --from '%.100s': give a "
			"later time",
			command->to_name, command->to, from);
		return OPTS_WRONG;
	case TIME_RANGE_EMPTY:
		log_err("%s '%.100s': nothing is between that and --from "
			"'%.100s': give a later time",
			command->to_name, command->to, from);
		return OPTS_WRONG;
	default:
		return OPTS_GO_ON;
	}
}

int range_command_read(const struct range_command *command, const char *dir,
		       const char *path, const struct trace_index *index,
		       bool progress, struct trace_bounds *bounds,
		       struct time_range *range)
{
	struct progress line;
	const struct read_progress tell = { progress_tell, &line };
	enum time_range_error error;
	int err;
	char end[TIME_RANGE_TEXT];

	progress_begin(&line, "looking for the first call", progress);
	err = trace_bounds_read(path, index, &tell, bounds);
	progress_end(&line);
	if (err)
		return err;
	if (bounds->unsure)
		log_warn("parts of the trace of '%.2000s' found no memory: its "
			 "first call may be one of them, and times count from "
			 "a later one (free memory)",
			 dir);
	error = time_range_make(&command->wish, bounds, range);
	if (error == TIME_RANGE_FINE)
		return 0;
	if (error == TIME_RANGE_NO_CALLS)
		log_err("'%.2000s' has no calls, and times count from the "
			"first one: leave out %s",
			dir,
			command->wish.has_from ? "--from" : command->to_name);
	else
		log_err("--from '%.100s': '%.2000s' ends before that: give a "
			"time from 0s to %s",
			command->from, dir,
			time_range_text(bounds->last_ns - bounds->first_ns,
					end));
	return -EDOM;
}

int range_command_part(const struct range_command *command, const char *dir,
		       const char *path, struct time_range *range)
{
	struct trace_bounds bounds;

	*range = TIME_RANGE_ALL;
	return range_command_given(command)
		       ? range_command_read(command, dir, path, NULL, true,
					    &bounds, range)
		       : 0;
}
