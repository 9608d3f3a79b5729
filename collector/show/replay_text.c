/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/replay_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/put.h"
#include "collector/base/size.h"
#include "collector/names/name_fold.h"
#include "collector/show/call_merge.h"
#include "collector/show/call_text.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

#define INDENT 2
#define DEPTH_SHOWN 60 /* greatest depth that is indented */
/* Narrower terminals get no column for the time. */
#define COLUMNS_WIDE 60
/* Narrower terminals get no columns for off-CPU times. */
#define COLUMNS_SCHED 110

/* Columns for the thread's times during a call. */
enum sched_column {
	SCHED_ON_CPU,
	SCHED_PREEMPTED,
	SCHED_WAITED,
	SCHED_COLUMNS
};

struct replay {
	const struct call_reader *reader;
	const struct trace_reader *trace;
	const struct replay_text_options *options;
	FILE *out;
	bool narrow;
	uint32_t sched_columns; /* number of visible columns */
	uint32_t depth_shown;
	uint64_t origin_ns;
	char **names; /* displayed names, by number of the text */
	uint32_t name_room;
	bool *told; /* by track number: the thread was named */
	uint32_t told_room;
	/* Rest of the line after the columns, uncut. */
	struct call_text line;
};

/* --- the text of a line --- */

static void put_cut_line(struct replay *replay, size_t room)
{
	struct call_text *line = &replay->line;

	line->text[line->used] = '\0';
	if (room)
		terminal_put(line->text, room, replay->out);
	else
		put_bytes(line->text, line->used, replay->out);
	put_char('\n', replay->out);
}

/* --- names --- */

static const char *shown_name(struct replay *replay, uint32_t number)
{
	char text[NAME_FOLD_BYTES];
	const char *full = trace_reader_text(replay->trace, number);

	if (grow_array_zeroed(replay->names, replay->name_room, number + 1))
		return NULL;
	if (replay->names[number])
		return replay->names[number];
	if (replay->options->full_names)
		name_fold_clean(full, text);
	else
		name_fold(full, text);
	replay->names[number] = strdup(text);
	return replay->names[number];
}

/* --- columns --- */

static void put_sched_header(const struct replay *replay)
{
	static const char *const heads[SCHED_COLUMNS] = {
		[SCHED_ON_CPU] = "on CPU",
		[SCHED_PREEMPTED] = "runnable",
		[SCHED_WAITED] = "blocked",
	};
	char text[32];

	for (uint32_t i = 0; i < replay->sched_columns; i++) {
		snprintf(text, sizeof(text), " %11s", heads[i]);
		put_text(text, replay->out);
	}
}

/* Formats "> 1.2 us" if a part of the call is unknown, or "?" if all of it
 * is. */
static void sched_text(uint64_t ns, bool unknown, char *text, size_t room)
{
	char size[SIZE_TEXT];

	if (unknown && !ns)
		snprintf(text, room, "?");
	else
		snprintf(text, room, "%s%s", unknown ? "> " : "",
			 size_format_ns(ns, size));
}

/* Writes the thread's times during the call of @event, or blanks unless @ended.
 * Returns the number of characters. */
static size_t put_replay_sched(const struct replay *replay,
			       const struct merged_event *event, bool ended)
{
	char text[SIZE_TEXT + 4] = "", column[SIZE_TEXT + 16];
	struct trace_sched_sums sums = { 0 };
	size_t length = 0;

	ended = ended &&
		call_reader_sched(replay->reader, event->track, event->begin_ns,
				  event->end_ns, &sums);
	for (uint32_t i = 0;
	     i < MIN(replay->sched_columns, (uint32_t)SCHED_COLUMNS); i++) {
		const uint64_t parts[SCHED_COLUMNS] = {
			[SCHED_ON_CPU] = sums.on_cpu,
			[SCHED_PREEMPTED] = sums.preempted,
			[SCHED_WAITED] = sums.waited,
		};

		if (ended)
			sched_text(parts[i], sums.unknown, text, sizeof(text));
		length +=
			(size_t)snprintf(column, sizeof(column), " %11s", text);
		put_text(column, replay->out);
	}
	return length;
}

static size_t put_replay_columns(struct replay *replay,
				 const struct merged_event *event,
				 const char *took)
{
	uint64_t ns = event->ns - MIN(event->ns, replay->origin_ns);
	char thread[CALL_THREAD_BYTES], text[96];
	size_t length;

	call_thread_label(replay->trace, event->track, thread);
	if (replay->narrow)
		length = (size_t)snprintf(text, sizeof(text), "%9s", took);
	else
		length = (size_t)snprintf(
			text, sizeof(text), "%3" PRIu64 ".%09u %12s",
			ns / 1000000000, (unsigned int)(ns % 1000000000), took);
	put_text(text, replay->out);
	length += put_replay_sched(replay, event, *took);
	length += (size_t)snprintf(text, sizeof(text), " %*s  ",
				   replay->narrow ? 7 : 8, thread);
	put_text(text, replay->out);
	return length;
}

static void put_replay_event(struct replay *replay,
			     const struct merged_event *event, const char *took)
{
	size_t columns = put_replay_columns(replay, event, took);
	size_t room = replay->options->columns;

	put_cut_line(replay, !room ? 0 : room > columns ? room - columns : 1);
}

/* Names the thread of @track in front of its first line. Returns 0 or
 * -ENOMEM. */
static int tell_thread(struct replay *replay, const struct merged_event *event)
{
	const struct trace_track *track = event->track;
	const struct trace_track *thread =
		call_track_thread(replay->trace, track);
	char text[160];

	if (track->kind == TRACE_TRACK_WAITS)
		track = thread;
	if (grow_array_zeroed(replay->told, replay->told_room,
			      track->number + 1))
		return -ENOMEM;
	if (replay->told[track->number])
		return 0;
	replay->told[track->number] = true;
	replay->line.used = 0;
	call_text_add(&replay->line, "/* ");
	if (thread->name) {
		call_text_add(&replay->line,
			      track == thread ? "" : "a context of ");
		call_text_add(&replay->line, thread->kind == TRACE_TRACK_THREAD
						     ? "thread "
						     : "track ");
		call_text_add(&replay->line,
			      shown_name(replay, thread->name) ?: "");
	}
	if (thread->process) {
		snprintf(text, sizeof(text), "%sprocess %" PRId64 " ",
			 thread->name ? " of " : "", thread->process->pid);
		call_text_add(&replay->line, text);
		call_text_add(&replay->line,
			      shown_name(replay, thread->process->name) ?: "");
	}
	call_text_add(&replay->line, " */");
	put_replay_event(replay, event, "");
	return 0;
}

/* --- events --- */

static void line_indent(struct replay *replay, uint32_t depth)
{
	replay->line.used = 0;
	for (uint32_t i = 0; i < MIN(depth, replay->depth_shown) * INDENT; i++)
		call_text_add(&replay->line, " ");
}

static const char *took_text(const struct merged_event *event, char *text,
			     size_t room)
{
	char size[SIZE_TEXT];

	snprintf(text, room, "%s%s", event->unfinished ? "> " : "",
		 size_format_ns(event->took_ns, size));
	return text;
}

static void put_replay_result(struct replay *replay,
			      const struct merged_event *event)
{
	if (!event->result)
		return;
	call_text_add(&replay->line, " /* ");
	call_text_arguments(&replay->line, event->result);
	call_text_add(&replay->line, " */");
}

static void put_replay_begin(struct replay *replay,
			     const struct merged_event *event, const char *name)
{
	char took[SIZE_TEXT + 4];

	line_indent(replay, event->depth);
	call_text_call(&replay->line, name, event->arguments);
	call_text_add(&replay->line, !event->leaf ? " {"
				     : event->unfinished
					     ? "; /* not finished */"
					     : ";");
	put_replay_result(replay, event);
	put_replay_event(replay, event,
			 event->leaf ? took_text(event, took, sizeof(took))
				     : "");
}

static void put_instant(struct replay *replay, const struct merged_event *event,
			const char *name)
{
	line_indent(replay, event->depth);
	call_text_add(&replay->line, "/* ");
	call_text_add(&replay->line, name);
	if (event->arguments) {
		call_text_add(&replay->line, " (");
		call_text_arguments(&replay->line, event->arguments);
		call_text_add(&replay->line, ")");
	}
	call_text_add(&replay->line, " */");
	put_replay_event(replay, event, "");
}

/* A wait has one line, at its start. It names the thread that held the lock for
 * the longest time or, without a holder, the thread that ended the wait. */
static void put_replay_wait(struct replay *replay,
			    const struct merged_event *event, const char *name)
{
	char took[SIZE_TEXT + 4];

	if (event->kind != TRACE_BEGIN)
		return;
	line_indent(replay, event->depth);
	call_text_add(&replay->line,
		      event->leaf ? "/* waited on " : "/* waits on ");
	call_text_add(&replay->line, name);
	if (call_text_value(&replay->line, ", held by ", event->arguments,
			    "held_by"))
		call_text_value(&replay->line, " in ", event->arguments,
				"held_in");
	else if (call_text_value(&replay->line, ", woken by ", event->arguments,
				 "woken_by"))
		call_text_value(&replay->line, " in ", event->arguments,
				"woken_in");
	call_text_value(&replay->line, ", ", event->arguments, "result");
	call_text_add(&replay->line, " */");
	put_replay_event(replay, event,
			 event->leaf ? took_text(event, took, sizeof(took))
				     : "");
}

static int print_event(struct replay *replay, const struct merged_event *event)
{
	const char *name = shown_name(replay, event->name);

	if (!name || tell_thread(replay, event))
		return -ENOMEM;
	if (event->track->kind == TRACE_TRACK_WAITS)
		put_replay_wait(replay, event, name);
	else if (event->kind == TRACE_BEGIN)
		put_replay_begin(replay, event, name);
	else if (event->kind == TRACE_END) {
		char took[SIZE_TEXT + 4];

		line_indent(replay, event->depth);
		call_text_add(&replay->line, "} /* ");
		call_text_add(&replay->line, name);
		call_text_add(&replay->line,
			      event->unfinished ? ": not finished */" : " */");
		put_replay_result(replay, event);
		put_replay_event(replay, event,
				 took_text(event, took, sizeof(took)));
	} else
		put_instant(replay, event, name);
	return ferror(replay->out) ? -EIO : 0;
}

static int print_all_events(struct replay *replay, struct call_merge *merge)
{
	struct merged_event event;
	int got;
	char text[96];

	if (replay->narrow)
		snprintf(text, sizeof(text), "%9s", "took");
	else
		snprintf(text, sizeof(text), "%13s %12s", "time s", "took");
	put_text(text, replay->out);
	put_sched_header(replay);
	snprintf(text, sizeof(text), " %*s  calls\n", replay->narrow ? 7 : 8,
		 "thread");
	put_text(text, replay->out);
	while ((got = call_merge_next(merge, &event)) > 0) {
		got = print_event(replay, &event);
		if (got)
			return got;
	}
	return fflush(replay->out) ? -EIO : got;
}

int replay_text_print(struct call_reader *reader,
		      const struct replay_text_options *options, FILE *out,
		      uint64_t *late)
{
	struct replay *replay = calloc(1, sizeof(*replay));
	struct call_merge *merge;
	int err;
	size_t indent;

	if (!replay)
		return -ENOMEM;
	replay->reader = reader;
	replay->trace = call_reader_trace(reader);
	replay->options = options;
	replay->out = out;
	replay->origin_ns = call_reader_origin(reader);
	/* On a terminal, indentation uses at most a quarter of the line. */
	indent = options->columns / 4 / INDENT;
	replay->narrow = options->columns && options->columns < COLUMNS_WIDE;
	replay->depth_shown =
		options->columns ? (uint32_t)MIN(indent, (size_t)DEPTH_SHOWN)
				 : DEPTH_SHOWN;
	if (!replay->narrow && call_reader_has_sched(replay->reader))
		replay->sched_columns =
			options->columns && options->columns < COLUMNS_SCHED
				? SCHED_ON_CPU + 1
				: SCHED_COLUMNS;
	err = call_merge_new(reader, &merge);
	if (!err) {
		err = print_all_events(replay, merge);
		*late = call_merge_late(merge);
		call_merge_free(&merge);
	}
	for (uint32_t i = 0; i < replay->name_room; i++)
		free(replay->names[i]);
	free(replay->names);
	free(replay->told);
	free(replay);
	return err;
}
