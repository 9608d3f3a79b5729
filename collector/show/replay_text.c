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
#include "collector/show/terminal.h"
#include "shared/compiler.h"

#define INDENT 2
#define DEPTH_SHOWN 60 /* calls that are deeper are indented no further */
/* A terminal that has less has no column for the time. */
#define COLUMNS_WIDE 60
/* One that has less has no columns of what a thread did off the CPU. */
#define COLUMNS_SCHED 110
#define LINE_BYTES_MAX 16384 /* of a call with its arguments */
#define THREAD_BYTES 24

/* Columns of what a thread did during a call. */
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
	uint32_t sched_columns; /* the first so many are shown */
	uint32_t depth_shown;
	uint64_t origin_ns;
	char **names; /* as they are shown, by number of the text */
	uint32_t name_room;
	bool *told; /* by number of a track: its thread was named */
	uint32_t told_room;
	/* The part of a line behind its columns, before it is cut. */
	char line[LINE_BYTES_MAX];
	size_t used;
};

/* --- the text of a line --- */

static void line_put(struct replay *replay, const char *text, size_t count)
{
	count = MIN(count, LINE_BYTES_MAX - 1 - replay->used);
	memcpy(replay->line + replay->used, text, count);
	replay->used += count;
}

static void line_text(struct replay *replay, const char *text)
{
	line_put(replay, text, strlen(text));
}

/* Any bytes, without what a terminal takes for a command. */
static void line_clean(struct replay *replay, const char *text, size_t count)
{
	char full[256], clean[NAME_FOLD_BYTES];
	size_t length;

	count = MIN(count, sizeof(full) - 1);
	memcpy(full, text, count);
	full[count] = '\0';
	length = name_fold_clean(full, clean);
	line_put(replay, clean, length);
}

/* Writes the line's text, cut to @room columns (0: not cut). */
static void put_cut_line(struct replay *replay, size_t room)
{
	replay->line[replay->used] = '\0';
	if (room)
		terminal_put(replay->line, room, replay->out);
	else
		put_bytes(replay->line, replay->used, replay->out);
	put_char('\n', replay->out);
}

/* --- names --- */

/* The name with @number as it is shown. NULL: no memory. */
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

static void line_argument(struct replay *replay,
			  const struct trace_argument *argument)
{
	char text[40];

	line_clean(replay, argument->name, argument->name_bytes);
	line_text(replay, "=");
	switch (argument->kind) {
	case TRACE_ARGUMENT_BOOL:
		line_text(replay, argument->number ? "true" : "false");
		return;
	case TRACE_ARGUMENT_TEXT:
		line_text(replay, "\"");
		line_clean(replay, argument->text, argument->text_bytes);
		line_text(replay, "\"");
		return;
	case TRACE_ARGUMENT_DOUBLE:
		snprintf(text, sizeof(text), "%g", argument->real);
		break;
	case TRACE_ARGUMENT_POINTER:
		snprintf(text, sizeof(text), "0x%" PRIx64, argument->number);
		break;
	case TRACE_ARGUMENT_INT:
		snprintf(text, sizeof(text), "%" PRId64,
			 (int64_t)argument->number);
		break;
	default:
		snprintf(text, sizeof(text), "%" PRIu64, argument->number);
	}
	line_text(replay, text);
}

static void line_arguments(struct replay *replay,
			   const struct call_arguments *arguments)
{
	struct trace_argument argument;
	const char *between = "";
	size_t at = 0;

	while (call_arguments_next(arguments, &at, &argument)) {
		line_text(replay, between);
		line_argument(replay, &argument);
		between = ", ";
	}
}

/* "f(a=1)"; a name of C++ or Rust has its parameters already. */
static void line_call(struct replay *replay, const char *name,
		      const struct merged_event *event)
{
	bool has_parameters = strchr(name, '(');

	line_text(replay, name);
	if (has_parameters && !event->arguments)
		return;
	line_text(replay, has_parameters ? " (" : "(");
	line_arguments(replay, event->arguments);
	line_text(replay, ")");
}

/* --- columns --- */

static void thread_label(const struct replay *replay,
			 const struct trace_track *track,
			 char text[THREAD_BYTES])
{
	const struct trace_track *thread =
		call_track_thread(replay->trace, track);

	if (track->kind != TRACE_TRACK_CONTEXT &&
	    thread->kind == TRACE_TRACK_THREAD)
		snprintf(text, THREAD_BYTES, "%" PRId64, thread->tid);
	else if (track->kind == TRACE_TRACK_CONTEXT)
		snprintf(text, THREAD_BYTES, "%" PRId64 "/%u", thread->tid,
			 track->number);
	else
		snprintf(text, THREAD_BYTES, "-");
}

static void put_sched_header(const struct replay *replay)
{
	static const char *const heads[SCHED_COLUMNS] = {
		[SCHED_ON_CPU] = "on CPU",
		[SCHED_PREEMPTED] = "preempted",
		[SCHED_WAITED] = "waited",
	};
	char text[32];

	for (uint32_t i = 0; i < replay->sched_columns; i++) {
		snprintf(text, sizeof(text), " %11s", heads[i]);
		put_text(text, replay->out);
	}
}

/* "> 1.2 us", or "?" in the place of 0: of a part of the call it is not known
 * what the thread did. */
static void sched_text(uint64_t ns, bool unknown, char *text, size_t room)
{
	char size[SIZE_TEXT];

	if (unknown && !ns)
		snprintf(text, room, "?");
	else
		snprintf(text, room, "%s%s", unknown ? "> " : "",
			 size_format_ns(ns, size));
}

/* Writes what the thread did during the call of @event, if @ended; else blanks.
 * Returns how many characters that takes. */
static size_t put_sched(const struct replay *replay,
			const struct merged_event *event, bool ended)
{
	char text[SIZE_TEXT + 4] = "", column[SIZE_TEXT + 16];
	struct trace_sched_sums sums = { 0 };
	size_t length = 0;

	ended = ended &&
		call_reader_sched(replay->reader, event->track, event->begin_ns,
				  event->end_ns, &sums);
	for (uint32_t i = 0; i < replay->sched_columns; i++) {
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

/* Writes the columns; @took is "" if nothing ends here. Returns how many
 * characters they take. */
static size_t put_columns(struct replay *replay,
			  const struct merged_event *event, const char *took)
{
	uint64_t ns = event->ns - MIN(event->ns, replay->origin_ns);
	char thread[THREAD_BYTES], text[96];
	size_t length;

	thread_label(replay, event->track, thread);
	if (replay->narrow)
		length = (size_t)snprintf(text, sizeof(text), "%9s", took);
	else
		length = (size_t)snprintf(
			text, sizeof(text), "%3" PRIu64 ".%09u %12s",
			ns / 1000000000, (unsigned int)(ns % 1000000000), took);
	put_text(text, replay->out);
	length += put_sched(replay, event, *took);
	length += (size_t)snprintf(text, sizeof(text), " %*s  ",
				   replay->narrow ? 7 : 8, thread);
	put_text(text, replay->out);
	return length;
}

static void put_event(struct replay *replay, const struct merged_event *event,
		      const char *took)
{
	size_t columns = put_columns(replay, event, took);
	size_t room = replay->options->columns;

	put_cut_line(replay, !room ? 0 : room > columns ? room - columns : 1);
}

static void put_header(struct replay *replay)
{
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
}

/* Names the thread of @track, at its first line. 0 or -ENOMEM. */
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
	replay->used = 0;
	line_text(replay, "/* ");
	if (thread->name) {
		line_text(replay, track == thread ? "" : "a context of ");
		line_text(replay, thread->kind == TRACE_TRACK_THREAD
					  ? "thread "
					  : "track ");
		line_text(replay, shown_name(replay, thread->name) ?: "");
	}
	if (thread->process) {
		snprintf(text, sizeof(text), "%sprocess %" PRId64 " ",
			 thread->name ? " of " : "", thread->process->pid);
		line_text(replay, text);
		line_text(replay,
			  shown_name(replay, thread->process->name) ?: "");
	}
	line_text(replay, " */");
	put_event(replay, event, "");
	return 0;
}

/* --- events --- */

static void line_indent(struct replay *replay, uint32_t depth)
{
	replay->used = 0;
	for (uint32_t i = 0; i < MIN(depth, replay->depth_shown) * INDENT; i++)
		line_text(replay, " ");
}

/* "1.2 us"; "> 1.2 us" of a call whose end is not there. */
static const char *took_text(const struct merged_event *event, char *text,
			     size_t room)
{
	char size[SIZE_TEXT];

	snprintf(text, room, "%s%s", event->unfinished ? "> " : "",
		 size_format_ns(event->end_ns - event->begin_ns, size));
	return text;
}

static void put_begin(struct replay *replay, const struct merged_event *event,
		      const char *name)
{
	char took[SIZE_TEXT + 4];

	line_indent(replay, event->depth);
	line_call(replay, name, event);
	line_text(replay, !event->leaf	      ? " {"
			  : event->unfinished ? "; /* not finished */"
					      : ";");
	put_event(replay, event,
		  event->leaf ? took_text(event, took, sizeof(took)) : "");
}

static void put_end(struct replay *replay, const struct merged_event *event,
		    const char *name)
{
	char took[SIZE_TEXT + 4];

	line_indent(replay, event->depth);
	line_text(replay, "} /* ");
	line_text(replay, name);
	line_text(replay, event->unfinished ? ": not finished */" : " */");
	put_event(replay, event, took_text(event, took, sizeof(took)));
}

/* An annotation, or what perfrec tells of a function's state. */
static void put_instant(struct replay *replay, const struct merged_event *event,
			const char *name)
{
	line_indent(replay, event->depth);
	line_text(replay, "/* ");
	line_text(replay, name);
	if (event->arguments) {
		line_text(replay, " (");
		line_arguments(replay, event->arguments);
		line_text(replay, ")");
	}
	line_text(replay, " */");
	put_event(replay, event, "");
}

/* A wait has one line, where it begins. */
static void put_wait(struct replay *replay, const struct merged_event *event,
		     const char *name)
{
	char took[SIZE_TEXT + 4];

	if (event->kind != TRACE_BEGIN)
		return;
	line_indent(replay, event->depth);
	line_text(replay, event->leaf ? "/* waited on " : "/* waits on ");
	line_text(replay, name);
	line_text(replay, " */");
	put_event(replay, event,
		  event->leaf ? took_text(event, took, sizeof(took)) : "");
}

static int print_event(struct replay *replay, const struct merged_event *event)
{
	const char *name = shown_name(replay, event->name);

	if (!name || tell_thread(replay, event))
		return -ENOMEM;
	if (event->track->kind == TRACE_TRACK_WAITS)
		put_wait(replay, event, name);
	else if (event->kind == TRACE_BEGIN)
		put_begin(replay, event, name);
	else if (event->kind == TRACE_END)
		put_end(replay, event, name);
	else
		put_instant(replay, event, name);
	return ferror(replay->out) ? -EIO : 0;
}

static void release(struct replay *replay)
{
	for (uint32_t i = 0; i < replay->name_room; i++)
		free(replay->names[i]);
	free(replay->names);
	free(replay->told);
	free(replay);
}

static int print_all(struct replay *replay, struct call_merge *merge)
{
	struct merged_event event;
	int got;

	put_header(replay);
	while ((got = call_merge_next(merge, &event)) > 0) {
		got = print_event(replay, &event);
		if (got)
			return got;
	}
	return fflush(replay->out) ? -EIO : got;
}

/* A quarter of a line that has an end may be blanks before the name. */
static void set_width(struct replay *replay, size_t columns)
{
	size_t indent = columns / 4 / INDENT;

	replay->narrow = columns && columns < COLUMNS_WIDE;
	replay->depth_shown =
		columns ? (uint32_t)MIN(indent, (size_t)DEPTH_SHOWN)
			: DEPTH_SHOWN;
	if (!replay->narrow && call_reader_has_sched(replay->reader))
		replay->sched_columns = columns && columns < COLUMNS_SCHED
						? SCHED_ON_CPU + 1
						: SCHED_COLUMNS;
}

int replay_text_print(struct call_reader *reader,
		      const struct replay_text_options *options, FILE *out,
		      uint64_t *late)
{
	struct replay *replay = calloc(1, sizeof(*replay));
	struct call_merge *merge;
	int err;

	if (!replay)
		return -ENOMEM;
	replay->reader = reader;
	replay->trace = call_reader_trace(reader);
	replay->options = options;
	replay->out = out;
	replay->origin_ns = call_reader_origin(reader);
	set_width(replay, options->columns);
	err = call_merge_new(reader, &merge);
	if (!err) {
		err = print_all(replay, merge);
		*late = call_merge_late(merge);
		call_merge_free(&merge);
	}
	release(replay);
	return err;
}
