/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/call_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector/names/call_layout.h"
#include "collector/names/name_fold.h"
#include "collector/read/thread_choice.h"
#include "shared/compiler.h"

void call_text_put(struct call_text *line, const char *text, size_t count)
{
	count = MIN(count, CALL_TEXT_BYTES - 1 - line->used);
	memcpy(line->text + line->used, text, count);
	line->used += count;
}

void call_text_add(struct call_text *line, const char *text)
{
	call_text_put(line, text, strlen(text));
}

static void line_clean(struct call_text *line, const char *text, size_t count)
{
	char full[256], clean[NAME_FOLD_BYTES];
	size_t length;

	count = MIN(count, sizeof(full) - 1);
	memcpy(full, text, count);
	full[count] = '\0';
	length = name_fold_clean(full, clean);
	call_text_put(line, clean, length);
}

static void line_argument(struct call_text *line,
			  const struct trace_argument *argument)
{
	const size_t bytes = CALL_ARGUMENT_PREFIX_BYTES;
	const size_t skipped =
		argument->name_bytes > bytes &&
				!memcmp(argument->name, CALL_ARGUMENT_PREFIX,
					bytes)
			? bytes
			: 0;
	char text[40];

	line_clean(line, argument->name + skipped,
		   argument->name_bytes - skipped);
	call_text_add(line, "=");
	switch (argument->kind) {
	case TRACE_ARGUMENT_BOOL:
		call_text_add(line, argument->number ? "true" : "false");
		return;
	case TRACE_ARGUMENT_TEXT:
		call_text_add(line, "\"");
		line_clean(line, argument->text, argument->text_bytes);
		call_text_add(line, "\"");
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
	call_text_add(line, text);
}

void call_text_arguments(struct call_text *line,
			 const struct call_arguments *arguments)
{
	struct trace_argument argument;
	const char *between = "";
	size_t at = 0;

	while (call_arguments_next(arguments, &at, &argument)) {
		call_text_add(line, between);
		line_argument(line, &argument);
		between = ", ";
	}
}

bool call_text_value(struct call_text *line, const char *before,
		     const struct call_arguments *arguments, const char *name)
{
	struct trace_argument argument;
	size_t at = 0;

	while (call_arguments_next(arguments, &at, &argument)) {
		if (!trace_argument_is(&argument, name))
			continue;
		if (argument.kind != TRACE_ARGUMENT_TEXT ||
		    trace_argument_has_text(&argument, "unknown"))
			return false;
		call_text_add(line, before);
		line_clean(line, argument.text, argument.text_bytes);
		return true;
	}
	return false;
}

void call_text_call(struct call_text *line, const char *name,
		    const struct call_arguments *arguments)
{
	bool has_parameters = strchr(name, '(');

	call_text_add(line, name);
	if (has_parameters && !arguments)
		return;
	call_text_add(line, has_parameters ? " (" : "(");
	call_text_arguments(line, arguments);
	call_text_add(line, ")");
}

void call_thread_label(const struct trace_reader *trace,
		       const struct trace_track *track,
		       char text[CALL_THREAD_BYTES])
{
	const struct trace_track *thread = call_track_thread(trace, track);

	if (track->kind != TRACE_TRACK_CONTEXT &&
	    thread->kind == TRACE_TRACK_THREAD)
		snprintf(text, CALL_THREAD_BYTES, "%" PRId64, thread->tid);
	else if (track->kind == TRACE_TRACK_CONTEXT)
		snprintf(text, CALL_THREAD_BYTES, "%" PRId64 "/%u", thread->tid,
			 call_track_context(trace, track));
	else
		snprintf(text, CALL_THREAD_BYTES, "-");
}
