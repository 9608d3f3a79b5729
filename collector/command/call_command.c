/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/call_command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/command/trace_command.h"
#include "collector/options/limits.h"
#include "collector/output/own_files.h"

static int add_chosen_function(struct call_command *command,
			       const struct opts_value *value)
{
	struct call_choice *choice = &command->choice;

	if (value->text[0] == '@')
		return opts_refuse(value, "give the name of a function: a "
					  "trace has no modules");
	if (choice->function_count == CALL_FUNCTIONS_MAX)
		return opts_refuse(value, "give fewer functions");
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
		return add_chosen_function(command, value);
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

/* --- checks before output --- */

static bool saw_call_function(const void *reader, uint32_t text)
{
	return call_reader_saw_function(reader, text);
}

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
					   saw_call_function, reader);
		return OPTS_FAILED;
	}
	return OPTS_OK;
}

/* Reads until an event matches the selected names; with calls_only, until a
 * call. Returns true if an undamaged trace has none. */
static bool read_in_vain(const struct call_command *command,
			 struct call_reader *reader)
{
	struct trace_read_totals totals;
	struct call_event event;
	int got;

	while ((got = call_reader_next(reader, &event)) > 0)
		if (call_reader_met_thread(reader) &&
		    call_reader_met_function(reader) &&
		    (!command->choice.calls_only ||
		     event.event.kind == TRACE_BEGIN ||
		     event.event.kind == TRACE_END))
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

/* Reports missing names before the first line of output. Damage of the trace is
 * reported at the end. Returns 0, -ENODATA, -ESRCH after one line in the log,
 * or the error of call_reader_open(). */
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
	begin_progress(command, reader, "looking for the chosen calls", true);
	vain = read_in_vain(command, reader);
	command->met = call_reader_met_thread(reader) &&
		       call_reader_met_function(reader);
	progress_end(&command->progress);
	if (vain)
		err = check_met(command, reader) == OPTS_OK
			      ? (wanted->calls_only ? -ENODATA : 0)
			      : -ESRCH;
	call_reader_close(&reader);
	return err;
}

int call_command_open(struct call_command *command, FILE *to,
		      struct call_reader **out)
{
	char path[PATH_MAX];
	int err = trace_command_path(command->dir, path);

	if (!err)
		err = check_choice(command, path);
	if (!err) {
		struct trace_bounds bounds;

		/* The origin of times is the first call, which may be anywhere
		 * in the trace. */
		err = range_command_read(&command->range, command->dir, path,
					 NULL, progress_fits(to), &bounds,
					 &command->choice.range);
		command->choice.origin_ns = err ? 0 : bounds.first_ns;
	}
	if (!err)
		err = call_reader_open(path, &command->choice, out);
	if (!err)
		begin_progress(command, *out, "reading the trace",
			       progress_fits(to));
	else if (err != -ESRCH && err != -ENODATA && err != -EDOM)
		trace_command_log_open(command->dir, err);
	return err;
}

/* --- the end --- */

int call_command_end(struct call_command *command,
		     const struct call_reader *reader, int result)
{
	struct trace_read_totals totals =
		trace_reader_totals(call_reader_trace(reader));
	int status;
	uint64_t count;

	progress_end(&command->progress);
	if (result == -EIO && errno == EPIPE)
		return OPTS_FAILED;
	if (result == -EIO) {
		log_err("cannot write: %s", strerror(errno));
		return OPTS_FAILED;
	}
	trace_command_say_short(call_reader_trace(reader));
	count = call_reader_refused_switches(reader);
	if (count)
		log_warn("out of memory: %" PRIu64 " switches of '%.2000s' are "
			 "missing, and on-CPU times after the first one are "
			 "unknown (free memory)",
			 count, command->dir);
	status = trace_command_check(command->dir, result, &totals);
	if (result && result != -EBADMSG)
		return status;
	if (status == OPTS_OK && !command->met)
		status = check_met(command, reader);
	return status;
}
