/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/find_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/names/name_fold.h"
#include "collector/read/thread_choice.h"
#include "collector/show/call_text.h"
#include "collector/show/short_name.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

#define THREAD_COLUMN 24
#define THREAD_BYTES 256

struct printer {
	const struct find_list *list;
	const struct trace_reader *trace;
	struct short_names names;
	struct terminal terminal;
	size_t thread_width;
	FILE *out;
	struct call_text line;
};

static void thread_text(const struct printer *printer,
			const struct found_call *call, char text[THREAD_BYTES])
{
	const struct trace_track *thread =
		call_track_thread(printer->trace, call->track);
	char label[CALL_THREAD_BYTES], clean[NAME_FOLD_BYTES];

	call_thread_label(printer->trace, call->track, label);
	name_fold_clean(trace_reader_text(printer->trace, thread->name), clean);
	snprintf(text, THREAD_BYTES, "%s%s%.200s", label, clean[0] ? " " : "",
		 clean);
}

static size_t put_list_columns(const struct printer *printer, const char *time,
			       const char *took, const char *thread)
{
	size_t width = terminal_width(thread);

	fprintf(printer->out, "  %14s  %9s  ", time, took);
	if (width > printer->thread_width)
		terminal_put(thread, printer->thread_width, printer->out);
	else
		fprintf(printer->out, "%s%*s", thread,
			(int)(printer->thread_width - width), "");
	fputs("  ", printer->out);
	return 2 + 14 + 2 + 9 + 2 + printer->thread_width + 2;
}

static void put_found_call(struct printer *printer, size_t number)
{
	const struct found_call *call = &printer->list->search->calls[number];
	uint64_t ns =
		call->begin_ns - MIN(call->begin_ns, printer->list->first_ns);
	char time[40], took[SIZE_TEXT + 4], size[SIZE_TEXT];
	char thread[THREAD_BYTES];
	struct call_text *line = &printer->line;
	size_t columns;

	snprintf(time, sizeof(time), "%" PRIu64 ".%09us", ns / 1000000000,
		 (unsigned int)(ns % 1000000000));
	snprintf(took, sizeof(took), "%s%s", call->unfinished ? "> " : "",
		 size_format_ns(call->took_ns, size));
	thread_text(printer, call, thread);
	columns = put_list_columns(printer, time, took, thread);
	line->used = 0;
	call_text_call(line, short_names_get(&printer->names, number),
		       call->arguments);
	if (call->unfinished)
		call_text_add(line, ", not finished");
	line->text[line->used] = '\0';
	if (printer->terminal.columns)
		terminal_put(line->text,
			     MAX(printer->terminal.columns, columns + 16) -
				     columns,
			     printer->out);
	else
		fputs(line->text, printer->out);
	fputc('\n', printer->out);
}

int find_list_print(const struct find_list *list, FILE *out)
{
	struct printer *printer = calloc(1, sizeof(*printer));
	int err;
	const struct call_search *search;
	const char **full;

	if (!printer)
		return -ENOMEM;
	printer->list = list;
	printer->trace = list->search->reader;
	printer->terminal = terminal_of(out);
	printer->out = out;
	search = printer->list->search;
	full = calloc(search->count + 1, sizeof(*full));
	err = -ENOMEM;
	for (size_t i = 0; full && i < search->count; i++)
		full[i] = trace_reader_text(printer->trace,
					    search->calls[i].name);
	if (full)
		err = short_names_make(&printer->names, full, search->count,
				       printer->list->full_names);
	free(full);
	if (!err) {
		char matched[SIZE_TEXT], shown[SIZE_TEXT], text[THREAD_BYTES];

		printer->thread_width = strlen("thread");
		for (size_t i = 0; i < search->count; i++) {
			thread_text(printer, &search->calls[i], text);
			printer->thread_width = MAX(printer->thread_width,
						    terminal_width(text));
		}
		printer->thread_width =
			MIN(printer->thread_width, THREAD_COLUMN);
		fprintf(printer->out, "\nperfrec: %s call%s: ",
			size_format_count(search->matched, matched),
			size_plural(search->matched));
		text_out(printer->list->expression, printer->out);
		if (search->count < search->matched)
			fprintf(printer->out, "; the %s %s",
				size_format_count(search->count, shown),
				search->wish.by_time ? "first" : "longest");
		fputs("\n\n", printer->out);
		put_list_columns(printer, "time", "took", "thread");
		fputs("call\n", printer->out);
		for (size_t i = 0; i < search->count; i++)
			put_found_call(printer, i);
		err = fflush(out) || ferror(out) ? -EIO : 0;
	}
	short_names_free(&printer->names);
	free(printer);
	return err;
}
