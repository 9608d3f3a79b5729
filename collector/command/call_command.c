/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/call_command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/command/name_near.h"
#include "collector/options/limits.h"
#include "collector/options/spelling.h"
#include "collector/output/folder_lock.h"
#include "collector/output/own_files.h"

#define THREADS_COMPARED 1000 /* names, when none is the one that is given */

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

	const char *before = command->chosen;

	*taken = true;
	command->chosen = value->name;
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
	case OPT_CALL_FROM:
		choice->from_ns = value->number;
		return OPTS_GO_ON;
	case OPT_CALL_TO:
		choice->to_ns = value->number;
		return value->number
			       ? OPTS_GO_ON
			       : opts_refuse(value, "give a time above 0");
	default:
		*taken = false;
		command->chosen = before;
		return OPTS_GO_ON;
	}
}

int call_command_operands(struct call_command *command, int argc, char **argv)
{
	const struct call_choice *choice = &command->choice;

	command->dir = optind < argc ? argv[optind] : RECORDING_DIR;
	if (argc - optind > 1) {
		log_err("'%s': one recording at a time", argv[optind + 1]);
		return OPTS_WRONG;
	}
	if (!command->dir[0]) {
		log_err("'': give the name of a folder");
		return OPTS_WRONG;
	}
	if (choice->to_ns && choice->to_ns <= choice->from_ns) {
		log_err("--until: give a time that is later than that of "
			"--from");
		return OPTS_WRONG;
	}
	return OPTS_GO_ON;
}

/* 0 or -ENAMETOOLONG. */
static int path_of(const struct call_command *command, const char *name,
		   char path[PATH_MAX])
{
	int length = snprintf(path, PATH_MAX, "%s/%s", command->dir, name);

	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static bool is_finished(const struct call_command *command)
{
	char path[PATH_MAX];

	return !path_of(command, SUMMARY_NAME, path) && access(path, F_OK) == 0;
}

static void log_no_trace(const struct call_command *command, int err)
{
	if (err != -ENOENT && err != -ENOTDIR)
		log_err("cannot read '%.2000s/" TRACE_NAME "': %s",
			command->dir,
			err == -EBADMSG ? "it is no plain file"
					: strerror(-err));
	else if (is_finished(command))
		log_err("'%.2000s' has no " TRACE_NAME ": that file was moved "
			"or removed, and it has the single calls; perfrec "
			"report shows the rest",
			command->dir);
	else
		log_err("'%.2000s' is no recording: there is no " TRACE_NAME
			"; give the folder that perfrec record -o named",
			command->dir);
}

/* --- before anything is written --- */

/* The functions of the trace; returns how many. NULL: no memory. */
static const char **list_functions(const struct call_reader *reader,
				   size_t *count)
{
	struct trace_reader *trace = call_reader_trace(reader);
	uint32_t texts = trace_reader_texts(trace);
	const char **names = calloc((size_t)texts + 1, sizeof(*names));

	*count = 0;
	for (uint32_t i = 1; names && i <= texts; i++)
		if (call_reader_saw_function(reader, i))
			names[(*count)++] = trace_reader_text(trace, i);
	return names;
}

static void say_unmet_function(const char *word,
			       const struct call_reader *reader)
{
	size_t count;
	const char **names = list_functions(reader, &count);
	char *near = names ? name_near(word, names, count) : NULL;

	if (near)
		log_err("--function '%.200s': no function of the trace "
			"matches: did you mean '%.200s'?",
			word, near);
	else
		log_err("--function '%.200s': no function of the trace matches",
			word);
	free(near);
	free(names);
}

static bool is_listed(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* The names of the first threads of @trace, each once, into @names. Returns how
 * many. */
static size_t list_threads(const struct trace_reader *trace,
			   const char *names[THREADS_COMPARED])
{
	const struct trace_track *track;
	size_t count = 0;

	for (uint32_t i = 0; count < THREADS_COMPARED &&
			     (track = trace_reader_track(trace, i)) != NULL;
	     i++) {
		const char *name = trace_reader_text(trace, track->name);

		if (track->kind == TRACE_TRACK_THREAD && name[0] &&
		    !is_listed(name, names, count))
			names[count++] = name;
	}
	return count;
}

static void say_unmet_thread(const char *word, const struct call_reader *reader)
{
	const char *names[THREADS_COMPARED], *near;
	size_t count = list_threads(call_reader_trace(reader), names);

	near = spelling_nearest(word, strlen(word), names, count);
	if (near)
		log_err("--thread '%.200s': no thread has that number or name: "
			"did you mean '%.200s'?",
			word, near);
	else
		log_err("--thread '%.200s': no thread has that number or name",
			word);
}

/* A choice that nothing met is a mistake in typing. */
static int check_met(const struct call_command *command,
		     const struct call_reader *reader)
{
	if (command->choice.thread && !call_reader_met_thread(reader)) {
		say_unmet_thread(command->choice.thread, reader);
		return OPTS_FAILED;
	}
	if (!call_reader_met_function(reader)) {
		say_unmet_function(command->functions[0], reader);
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

int call_command_open(struct call_command *command, FILE *to,
		      struct call_reader **out)
{
	char path[PATH_MAX];
	int err = path_of(command, TRACE_NAME, path);

	if (!err)
		err = check_choice(command, path);
	if (!err)
		err = call_reader_open(path, &command->choice, out);
	if (!err)
		begin_progress(command, *out, "reading the trace",
			       progress_fits(to));
	else if (err != -ESRCH && err != -ENODATA)
		log_no_trace(command, err);
	return err;
}

/* --- at the end --- */

/* That the trace never had all calls. */
static void say_short(const struct trace_reader *trace)
{
	uint64_t min_ns = trace_reader_min_duration(trace);
	char text[SIZE_TEXT];

	if (min_ns)
		log_info("calls shorter than %s are not in the trace: it was "
			 "recorded with --min-duration",
			 size_format_ns(min_ns, text));
}

static int check_whole(const struct call_command *command,
		       const struct trace_read_totals *totals)
{
	uint64_t bad =
		totals->bad_bundles + totals->bad_events + totals->refused;
	bool finished = is_finished(command);

	if (!totals->packets) {
		log_err("'%.2000s/" TRACE_NAME "' is no trace, or is empty",
			command->dir);
		return OPTS_FAILED;
	}
	if (!finished)
		log_warn("'%.2000s' is no finished recording: %s; this is what "
			 "its trace has so far",
			 command->dir,
			 folder_lock_test(command->dir) == -EBUSY
				 ? "it still goes on"
				 : "its collector was killed");
	if (totals->cut && finished)
		log_err("'%.2000s/" TRACE_NAME "' was cut: its last %" PRIu64
			" bytes are a part of a packet, and what came behind "
			"them is missing",
			command->dir, totals->cut);
	if (bad)
		log_err("'%.2000s/" TRACE_NAME "' is damaged: %" PRIu64
			" parts of it were left out",
			command->dir, bad);
	return bad || (totals->cut && finished) ? OPTS_FAILED : OPTS_OK;
}

/* Nothing was written, as the recording ends before --from. */
static bool is_beyond_end(const struct call_command *command,
			  const struct call_reader *reader,
			  const struct trace_read_totals *totals)
{
	uint64_t origin = call_reader_origin(reader);
	char text[SIZE_TEXT];

	if (!command->choice.from_ns || totals->last_ns < origin ||
	    totals->last_ns - origin >= command->choice.from_ns)
		return false;
	log_err("--from: nothing was recorded then, the last event is %s after "
		"the first",
		size_format_ns(totals->last_ns - origin, text));
	return true;
}

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
	if (result == -EBADMSG && totals.packets) {
		log_err("'%.2000s/" TRACE_NAME "' is damaged from byte %" PRIu64
			" of %" PRIu64 " on: what is behind that is missing",
			command->dir, totals.at, totals.size);
		return OPTS_FAILED;
	}
	if (result && result != -EBADMSG) {
		log_err("cannot read '%.2000s/" TRACE_NAME "': %s",
			command->dir, strerror(-result));
		return OPTS_FAILED;
	}
	say_short(call_reader_trace(reader));
	status = check_whole(command, &totals);
	if (status == OPTS_OK)
		status = check_met(command, reader);
	if (status == OPTS_OK && is_beyond_end(command, reader, &totals))
		status = OPTS_FAILED;
	return status;
}
