/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/find_list.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/names/name_fold.h"
#include "collector/read/thread_choice.h"
#include "shared/compiler.h"

static json_t *bytes_json(const char *text, size_t count)
{
	char *copy = strndup(text, count);
	json_t *json = copy ? json_text(copy) : NULL;

	free(copy);
	return json;
}

static json_t *argument_json(const struct trace_argument *argument)
{
	char text[24];

	switch (argument->kind) {
	case TRACE_ARGUMENT_BOOL:
		return json_boolean(argument->number);
	case TRACE_ARGUMENT_INT:
		return json_integer((json_int_t)argument->number);
	case TRACE_ARGUMENT_DOUBLE:
		/* NaN and infinities become null. */
		return json_real(argument->real) ?: json_null();
	case TRACE_ARGUMENT_TEXT:
		return bytes_json(argument->text, argument->text_bytes);
	case TRACE_ARGUMENT_POINTER:
		snprintf(text, sizeof(text), "0x%" PRIx64, argument->number);
		return json_string(text);
	default:
		return json_number(argument->number);
	}
}

static json_t *arguments_json(const struct call_arguments *arguments)
{
	json_t *object = json_object();
	struct trace_argument argument;
	size_t at = 0;

	while (call_arguments_next(arguments, &at, &argument)) {
		json_t *name = bytes_json(argument.name, argument.name_bytes);

		json_object_set_new(object, json_string_value(name) ?: "",
				    argument_json(&argument));
		json_decref(name);
	}
	return object;
}

static json_t *call_json(const struct find_list *list,
			 const struct found_call *call)
{
	const struct trace_reader *trace = list->search->reader;
	const struct trace_track *track = call->track;
	const struct trace_track *thread = call_track_thread(trace, track);
	const char *name = trace_reader_text(trace, call->name);
	char text[NAME_FOLD_BYTES];

	name_fold(name, text);
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:b, s:o}",
		"name", json_text(name), "short", json_text(text), "begin_ns",
		json_number(call->begin_ns - list->first_ns), "duration_ns",
		json_number(call->took_ns), "pid", (json_int_t)thread->pid,
		"tid", (json_int_t)thread->tid, "thread",
		json_text(trace_reader_text(trace, thread->name)), "context",
		track->kind == TRACE_TRACK_CONTEXT
			? json_number(call_track_context(trace, track))
			: json_null(),
		"depth", json_number(call->depth), "unfinished",
		(int)call->unfinished, "arguments",
		arguments_json(call->arguments));
}

int find_list_write_json(const struct find_list *list, FILE *out)
{
	const struct call_search *search = list->search;
	json_t *calls = json_array(), *root;

	for (size_t i = 0; i < search->count; i++)
		json_array_append_new(calls,
				      call_json(list, &search->calls[i]));
	root = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "version",
			 FIND_LIST_VERSION, "expression",
			 json_text(list->expression), "matched",
			 json_number(search->matched), "calls_of_function",
			 json_number(search->seen), "min_duration_ns",
			 json_number(trace_reader_min_duration(search->reader)),
			 "calls", calls);
	return json_text_print(root, out);
}
