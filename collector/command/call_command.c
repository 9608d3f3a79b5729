/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/call_command.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/command/trace_command.h"
#include "collector/options/limits.h"
#include "collector/output/own_files.h"

static int add_function(struct call_command *command,
			const struct opts_value *value)
{
	struct call_choice *choice = &command->choice;

	if (value->text[0] == '@')
		return opts_refuse(value, "give the name of a function: a "
					  "trace has no modules");
	if (choice->function_count == CALL_FUNCTIONS_MAX)
		return opts_refuse(value, "give fewer of them");
	command->functions[choice->function_count++] = value->text;
	choice->functions = command->functions;
	return OPTS_GO_ON;
}

int call_command_take(struct call_command *command,
		      const struct opts_value *value, bool *taken)
{
	struct call_choice *choice = &command->choice;

	*taken = true;
	if (range_command_take(&command->range, value))
		return OPTS_GO_ON;
	switch (value->id) {
	case OPT_CALL_MIN:
		choice->min_ns = value->number;
		return OPTS_GO_ON;
	case OPT_CALL_DEPTH:
		choice->depth = (uint32_t)value->number;
		return OPTS_GO_ON;
	case OPT_CALL_FUNCTION:
		return add_function(command, value);
	case OPT_CALL_THREAD:
		choice->thread = value->text;
		return OPTS_GO_ON;
	default:
		*taken = false;
		return OPTS_GO_ON;
	}
}

int call_command_operands(struct call_command *command, int argc, char **argv)
{
	command->dir = optind < argc ? argv[optind] : RECORDING_DIR;
	if (argc - optind > 1) {
		log_err("'%s': one recording at a time", argv[optind + 1]);
		return OPTS_WRONG;
	}
	if (!command->dir[0]) {
		log_err("'': give the name of a folder");
		return OPTS_WRONG;
	}
	return range_command_check(&command->range);
}

/* --- before anything is written --- */

static bool saw_function(const void *reader, uint32_t text)
{
	return call_reader_saw_function(reader, text);
}

/* A choice that nothing met is a mistake in typing. */
static int check_met(const struct call_command *command,
		     const struct call_reader *reader)
{
	if (command->choice.thread && !call_reader_met_thread(reader)) {
		trace_command_say_thread(command->choice.thread,
					 call_reader_trace(reader));
		return OPTS_FAILED;
	}
	if (!call_reader_met_function(reader)) {
		trace_command_say_function("--function", command->functions[0],
					   call_reader_trace(reader),
					   saw_function, reader);
		return OPTS_FAILED;
	}
	return OPTS_OK;
}

static bool is_call(const struct call_event *event)
{
	return event->event.kind == TRACE_BEGIN ||
	       event->event.kind == TRACE_END;
}

/* Reads until something is met that was chosen by name; with calls_only, until
 * a call. Returns whether all of a sound trace was read in vain. */
static bool read_in_vain(const struct call_command *command,
			 struct call_reader *reader)
{
	struct trace_read_totals totals;
	struct call_event event;
	int got;

	while ((got = call_reader_next(reader, &event)) > 0)
		if (call_reader_met_thread(reader) &&
		    call_reader_met_function(reader) &&
		    (!command->choice.calls_only || is_call(&event)))
			return false;
	totals = trace_reader_totals(call_reader_trace(reader));
	return !got && totals.packets && !totals.cut && !totals.bad_bundles &&
	       !totals.bad_events && !totals.refused;
}

static void begin_progress(struct call_command *command,
			   const struct call_reader *reader, const char *what,
			   bool wanted)
{
	const struct read_progress tell = { progress_tell, &command->progress };

	progress_begin(&command->progress, what, wanted);
	trace_reader_set_progress(call_reader_trace(reader), &tell);
}

/*
 * Says that a name of the choice is in vain, before a line is written. What is
 * wrong with a trace that is not sound is said at the end. 0; -ENODATA; -ESRCH
 * after one line in the log; or what call_reader_open() returns.
 */
static int check_choice(struct call_command *command, const char *path)
{
	const struct call_choice *wanted = &command->choice;
	const struct call_choice names = {
		.thread = wanted->thread,
		.functions = wanted->functions,
		.function_count = wanted->function_count,
		.calls_only = wanted->calls_only,
	};
	struct call_reader *reader;
	bool vain;
	int err;

	if (!names.thread && !names.function_count && !names.calls_only)
		return 0;
	err = call_reader_open(path, &names, &reader);
	if (err)
		return err;
	begin_progress(command, reader, "looking for what was chosen", true);
	vain = read_in_vain(command, reader);
	progress_end(&command->progress);
	if (vain)
		err = check_met(command, reader) == OPTS_OK
			      ? (wanted->calls_only ? -ENODATA : 0)
			      : -ESRCH;
	call_reader_close(&reader);
	return err;
}

/* Times are counted from the first call, which may stand anywhere in the trace.
 * 0, or as range_command_read(). */
static int set_range(struct call_command *command, const char *path,
		     bool progress)
{
	struct trace_bounds bounds;
	int err = range_command_read(&command->range, command->dir, path, NULL,
				     progress, &bounds, &command->choice.range);

	command->choice.origin_ns = err ? 0 : bounds.first_ns;
	return err;
}

int call_command_open(struct call_command *command, FILE *to,
		      struct call_reader **out)
{
	char path[PATH_MAX];
	int err = trace_command_path(command->dir, path);

	if (!err)
		err = check_choice(command, path);
	if (!err)
		err = set_range(command, path, progress_fits(to));
	if (!err)
		err = call_reader_open(path, &command->choice, out);
	if (!err)
		begin_progress(command, *out, "reading the trace",
			       progress_fits(to));
	else if (err != -ESRCH && err != -ENODATA && err != -EDOM)
		trace_command_log_open(command->dir, err);
	return err;
}

/* --- at the end --- */

int call_command_end(struct call_command *command,
		     const struct call_reader *reader, int result)
{
	struct trace_read_totals totals =
		trace_reader_totals(call_reader_trace(reader));
	int status;

	progress_end(&command->progress);
	if (result == -EIO && errno == EPIPE)
		return OPTS_FAILED;
	if (result == -EIO) {
		log_err("cannot write: %s", strerror(errno));
		return OPTS_FAILED;
	}
	trace_command_say_short(call_reader_trace(reader));
	status = trace_command_check(command->dir, result, &totals);
	if (result && result != -EBADMSG)
		return status;
	if (status == OPTS_OK)
		status = check_met(command, reader);
	return status;
}
