/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/report_io.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/json_text.h"
#include "collector/base/log.h"
#include "collector/base/pool.h"
#include "collector/base/search.h"
#include "collector/base/size.h"
#include "collector/command/report_trace_options.h"
#include "collector/command/trace_command.h"
#include "collector/names/call_layout.h"
#include "collector/names/io_calls.h"
#include "collector/options/opts.h"
#include "collector/read/trace_names.h"
#include "collector/show/call_read.h"
#include "collector/show/table.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

#define REPORT_IO_VERSION 1
#define COPIES_MAX 16 /* dup() of dup() of ... */
#define MEMORY_MAX (UINT64_C(1) << 30)
#define PATH_BYTES_MAX 256u
#define CUT "..." /* behind a path whose end is not recorded */

/* From @ns on descriptor @fd is a file: @file, or the one of descriptor @like
 * then. Both 0 and -1: it is closed. */
struct io_open {
	uint32_t process;
	int32_t fd;
	uint64_t ns;
	uint32_t file; /* text */
	int32_t like;
};

struct io_row {
	uint32_t file, function; /* texts; the key */
	uint64_t calls, errors, read, written, ns;
};

/* An open call of a track. */
struct io_frame {
	const struct io_call *call; /* NULL: another function */
	uint32_t name; /* text of the trace */
	uint32_t path;
	int64_t fd;
	uint64_t begin_ns;
	bool has_first; /* argument: it is the C library's function */
};

struct io_track {
	struct io_frame *frames;
	uint32_t room;
};

struct io_view {
	struct call_reader *reader;
	struct budget budget;
	struct trace_texts texts;
	struct io_track *tracks; /* by number */
	uint32_t track_room;
	struct io_open *opens; /* sorted before the second reading */
	size_t open_count, open_room;
	struct pool rows;
	bool is_second;
	bool is_damaged; /* the rows lack calls */
};

/* --- descriptors ---------------------------------------------------------- */

static int compare_opens(const void *left, const void *right)
{
	const struct io_open *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->fd != b->fd)
		return a->fd < b->fd ? -1 : 1;
	return (a->ns > b->ns) - (a->ns < b->ns);
}

/* Returns the text of the file, or 0. */
static uint32_t file_of(const struct io_view *view, uint32_t process,
			int32_t fd, uint64_t ns)
{
	for (int i = 0; i < COPIES_MAX && fd >= 0; i++) {
		const struct io_open wanted = { .process = process,
						.fd = fd,
						.ns = ns };
		size_t after = search_first(
			j, view->open_count,
			compare_opens(&view->opens[j], &wanted) > 0);
		const struct io_open *open =
			after ? &view->opens[after - 1] : NULL;

		if (!open || open->process != process || open->fd != fd)
			return 0;
		if (open->file)
			return open->file;
		fd = open->like;
		ns = open->ns;
	}
	return 0;
}

static uint32_t number_of_text(struct io_view *view, const char *text)
{
	return trace_texts_number(&view->texts, (const uint8_t *)text,
				  strlen(text));
}

static uint32_t number_of_made(struct io_view *view, const struct io_call *call)
{
	char text[32] = "[socket]";

	if (call->kind == IO_MAKES)
		snprintf(text, sizeof(text), "[%s]", call->name);
	return number_of_text(view, text);
}

static bool has_failed(const struct io_call *call, int64_t result)
{
	const char *type = strstr(call->signature, "->");

	if (!strncmp(call->name, "posix_", 6))
		return result != 0;
	/* mmap() of an address is -1. */
	return result == -1 || (!result && !strcmp(type, "->ptr"));
}

static int add_io_open(struct io_view *view, const struct io_frame *frame,
		       const struct call_event *event, uint32_t process,
		       int64_t result)
{
	struct io_open open = { .process = process,
				.fd = (int32_t)result,
				.ns = event->event.ns,
				.like = -1 };

	if (result < 0 || has_failed(frame->call, result))
		return 0;
	switch (frame->call->kind) {
	case IO_OPENS:
		open.file = frame->path;
		break;
	case IO_SOCKET:
	case IO_MAKES:
		open.file = number_of_made(view, frame->call);
		break;
	case IO_COPIES:
		/* dup2() of a descriptor to itself changes nothing. */
		if (result == frame->fd)
			return 0;
		open.like = (int32_t)frame->fd;
		break;
	case IO_CLOSES:
		open.fd = (int32_t)frame->fd;
		/* The close() itself still has the file. */
		open.ns = frame->begin_ns + 1;
		break;
	default:
		return 0;
	}
	if (grow_array_from(&view->budget, view->opens, view->open_room,
			    view->open_count + 1))
		return -ENOMEM;
	view->opens[view->open_count++] = open;
	return 0;
}

/* --- calls ---------------------------------------------------------------- */

static uint32_t name_file(struct io_view *view, const struct io_frame *frame,
			  uint32_t process)
{
	char text[32];
	uint32_t file;

	if (frame->path)
		return frame->path;
	if (frame->call->kind == IO_OPENS || frame->call->kind == IO_PATH)
		return number_of_text(view, "[no path]");
	if (frame->call->kind == IO_WAITS)
		return number_of_text(view, "[any file]");
	if (frame->call->kind == IO_SOCKET || frame->call->kind == IO_MAKES)
		return number_of_made(view, frame->call);
	if (frame->fd < 0 && !strncmp(frame->call->name, "mmap", 4))
		return number_of_text(view, "[memory]");
	file = file_of(view, process, (int32_t)frame->fd, frame->begin_ns);
	if (file)
		return file;
	snprintf(text, sizeof(text), "fd %lld", (long long)frame->fd);
	return number_of_text(view, text);
}

static int count_io_row(struct io_view *view, const struct io_frame *frame,
			const char *caller, uint32_t process, int64_t result,
			uint64_t ns)
{
	const struct io_row key = { .file = name_file(view, frame, process),
				    .function = number_of_text(view, caller) };
	struct io_row *row;
	uint32_t number;

	if (pool_intern(&view->rows, &key, &number) < 0)
		return -ENOMEM;
	row = &((struct io_row *)view->rows.items)[number];
	row->calls++;
	row->ns += ns;
	row->errors += has_failed(frame->call, result);
	if (result > 0 && frame->call->kind == IO_READS)
		row->read += (uint64_t)result;
	if (result > 0 && frame->call->kind == IO_WRITES)
		row->written += (uint64_t)result;
	return 0;
}

/* Returns the frame at the depth of @event, or NULL without memory. */
static struct io_frame *io_frame_at(struct io_view *view,
				    const struct call_event *event)
{
	const uint32_t number = event->event.track->number;
	struct io_track *track;

	if (grow_array_zeroed_from(&view->budget, view->tracks,
				   view->track_room, number + 1))
		return NULL;
	track = &view->tracks[number];
	return grow_array_zeroed_from(&view->budget, track->frames, track->room,
				      event->depth + 1)
		       ? NULL
		       : &track->frames[event->depth];
}

/* A function of the program may have the name of one of the C library's, but not
 * its arguments as well. */
static bool is_first_argument(const struct io_call *call,
			      const struct trace_argument *argument)
{
	const char *from = strchr(call->signature, '(') + 1;
	char name[32];

	snprintf(name, sizeof(name), CALL_ARGUMENT_PREFIX "%.*s",
		 (int)strcspn(from, ":"), from);
	return trace_argument_is(argument, name);
}

static int begin_io_call(struct io_view *view, struct call_event *event)
{
	const struct trace_reader *trace = call_reader_trace(view->reader);
	struct io_frame *frame = io_frame_at(view, event);
	struct trace_argument argument;
	char path[PATH_BYTES_MAX + sizeof(CUT)];
	size_t bytes = 0;
	bool cut = false;

	if (!frame)
		return -ENOMEM;
	*frame = (struct io_frame){
		.call = io_call_find(
			trace_reader_text(trace, event->event.name)),
		.name = event->event.name,
		.begin_ns = event->event.ns,
		.fd = -1,
	};
	while (frame->call &&
	       call_argument_next(view->reader, event, &argument)) {
		frame->has_first |= is_first_argument(frame->call, &argument);
		if (trace_argument_is(&argument, CALL_ARGUMENT_PREFIX "fd"))
			frame->fd = (int64_t)argument.number;
		else if (trace_argument_is(&argument,
					   CALL_ARGUMENT_PREFIX "path") &&
			 argument.kind == TRACE_ARGUMENT_TEXT) {
			bytes = MIN(argument.text_bytes, PATH_BYTES_MAX);
			memcpy(path, argument.text, bytes);
		} else if (trace_argument_is(&argument,
					     CALL_ARGUMENT_PREFIX "path cut")) {
			cut = true;
		}
	}
	if (!frame->has_first)
		frame->call = NULL;
	if (cut)
		memcpy(path + bytes, CUT, strlen(CUT));
	if (bytes)
		frame->path =
			trace_texts_number(&view->texts, (const uint8_t *)path,
					   bytes + (cut ? strlen(CUT) : 0));
	return 0;
}

/* Ignores calls without a result: they were cut off, or have no types. */
static int end_io_call(struct io_view *view, struct call_event *event)
{
	const struct trace_reader *trace = call_reader_trace(view->reader);
	const struct trace_track *of = event->event.track->process;
	const uint32_t process = of ? of->number : UINT32_MAX;
	struct io_frame *frame = io_frame_at(view, event);
	const char *caller = "";
	struct trace_argument argument;
	struct io_frame ended;

	if (!frame)
		return -ENOMEM;
	if (!frame->call)
		return 0;
	if (event->depth)
		caller = trace_reader_text(trace, frame[-1].name);
	ended = *frame;
	frame->call = NULL;
	while (call_argument_next(view->reader, event, &argument)) {
		if (!trace_argument_is(&argument, CALL_RESULT))
			continue;
		if (!view->is_second)
			return add_io_open(view, &ended, event, process,
					   (int64_t)argument.number);
		return count_io_row(view, &ended, caller, process,
				    (int64_t)argument.number, event->took_ns);
	}
	return 0;
}

/* Reads the trace at @path once. Returns the result of reading. */
static int read_io_calls(struct io_view *view, const char *path)
{
	const struct call_choice choice = { .calls_only = true };
	struct call_event event;
	int got = call_reader_open(path, &choice, &view->reader);

	if (got)
		return got;
	while ((got = call_reader_next(view->reader, &event)) > 0) {
		if (!event.event.track)
			continue;
		if (event.event.kind == TRACE_BEGIN)
			got = begin_io_call(view, &event);
		else if (event.event.kind == TRACE_END)
			got = end_io_call(view, &event);
		if (got < 0)
			break;
	}
	/* A row without its file's name would be wrong. */
	return got >= 0 && view->texts.refused ? -ENOMEM : got;
}

/* --- output --------------------------------------------------------------- */

struct io_order {
	const struct trace_texts *texts;
	const char *key;
};

static int compare_io_rows(const void *left, const void *right, void *context)
{
	const struct io_order *order = context;
	const struct io_row *a = left, *b = right;
	int names = strcmp(trace_texts_get(order->texts, a->file),
			   trace_texts_get(order->texts, b->file));

	if (!strcmp(order->key, "calls") && a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	if (!strcmp(order->key, "total") && a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return names ? names
		     : strcmp(trace_texts_get(order->texts, a->function),
			      trace_texts_get(order->texts, b->function));
}

static int print_io_json(const struct io_view *view, size_t count, FILE *out)
{
	const struct io_row *rows = view->rows.items;
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			list,
			json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "file",
				  json_text(trace_texts_get(&view->texts,
							    rows[i].file)),
				  "function",
				  json_text(trace_texts_get(&view->texts,
							    rows[i].function)),
				  "calls", (json_int_t)rows[i].calls, "errors",
				  (json_int_t)rows[i].errors, "read_bytes",
				  (json_int_t)rows[i].read, "written_bytes",
				  (json_int_t)rows[i].written, "total_ns",
				  (json_int_t)rows[i].ns));
	return json_text_print(json_pack("{s:i, s:s, s:o}", "version",
					 REPORT_IO_VERSION, "view", "io",
					 "files", list),
			       out);
}

static void add_io_row(struct table *table, const struct io_view *view,
		       const struct io_row *row)
{
	char ns[SIZE_TEXT], calls[SIZE_TEXT], errors[SIZE_TEXT];
	char read[SIZE_TEXT], written[SIZE_TEXT];
	const char *function = trace_texts_get(&view->texts, row->function);

	table_add(table,
		  (const char *[]){ size_format_ns(row->ns, ns),
				    size_format_count(row->calls, calls),
				    size_format_bytes(row->read, read),
				    size_format_bytes(row->written, written),
				    size_format_count(row->errors, errors),
				    function[0] ? function : "-" },
		  trace_texts_get(&view->texts, row->file), "");
}

static int print_io_table(const struct io_view *view,
			  const struct report_trace_options *options,
			  size_t count, FILE *out)
{
	static const struct table_column columns[] = {
		{ "time", 9, false, 0 },   { "calls", 7, false, 0 },
		{ "read", 9, false, 0 },   { "written", 9, false, 0 },
		{ "errors", 6, false, 2 }, { "function", 8, true, 1 },
	};
	const struct terminal terminal = terminal_of(out);
	struct table table;
	int err;

	table_init(&table, columns, ARRAY_SIZE(columns), "file");
	table.full_names = options->full_names;
	for (size_t i = 0; i < count; i++)
		add_io_row(&table, view,
			   &((const struct io_row *)view->rows.items)[i]);
	err = options->markdown ? table_print_markdown(&table, out)
				: table_print(&table, &terminal, out);
	table_release(&table);
	if (!err && !options->markdown && count < view->rows.count)
		fprintf(out, "  and %zu rows more (--limit 0)\n",
			view->rows.count - count);
	if (!err && !options->markdown)
		fputs("  without calls that the C library makes itself "
		      "(fread(), fprintf()), calls through pointers, and "
		      "calls deeper than 512\n",
		      out);
	return err ? err : fflush(out) || ferror(out) ? -EIO : 0;
}

static int print_io(struct io_view *view,
		    const struct report_trace_options *options, FILE *out)
{
	struct io_order order = { &view->texts,
				  options->sort ? options->sort : "total" };
	size_t count = view->rows.count;

	if (!count) {
		log_err("'%s' has no calls of functions for files (see perfrec "
			"record --calls-to 'open*,read,write,close')",
			options->dir);
		return -ENOENT;
	}
	qsort_r(view->rows.items, count, sizeof(struct io_row), compare_io_rows,
		&order);
	if (options->limit)
		count = MIN(count, options->limit);
	return options->json ? print_io_json(view, count, out)
			     : print_io_table(view, options, count, out);
}

static int read_io(struct io_view *view, const char *dir)
{
	struct trace_read_totals totals;
	char path[PATH_MAX];
	int err = trace_command_path(dir, path);

	if (!err)
		err = read_io_calls(view, path);
	if (!err) {
		call_reader_close(&view->reader);
		if (view->open_count)
			qsort(view->opens, view->open_count,
			      sizeof(*view->opens), compare_opens);
		view->is_second = true;
		err = read_io_calls(view, path);
	}
	if (!view->reader) {
		trace_command_log_open(dir, err);
		return err;
	}
	totals = trace_reader_totals(call_reader_trace(view->reader));
	view->is_damaged = trace_command_check(dir, err, &totals) != OPTS_OK;
	return err;
}

int report_io_print(const struct report_trace_options *options, FILE *out)
{
	struct io_view view = { .budget = { .left = MEMORY_MAX } };
	int err = trace_texts_init(&view.texts, &view.budget);

	pool_init(&view.rows, &view.budget, sizeof(struct io_row),
		  offsetof(struct io_row, calls));
	if (!err)
		err = read_io(&view, options->dir);
	if (!err)
		err = print_io(&view, options, out);
	if (!err && view.is_damaged)
		err = -EBADMSG;
	call_reader_close(&view.reader);
	for (uint32_t i = 0; i < view.track_room; i++)
		free(view.tracks[i].frames);
	free(view.tracks);
	free(view.opens);
	pool_release(&view.rows);
	trace_texts_release(&view.texts);
	return err;
}
