/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/call_arguments.h"

#include <stdlib.h>
#include <string.h>

#include "collector/names/call_layout.h"
#include "collector/options/argument_conditions.h"

struct kept_argument {
	size_t name_bytes, text_bytes;
	uint64_t number;
	double real;
	enum trace_argument_kind kind;
};

struct call_arguments *call_arguments_add(struct call_arguments *kept,
					  const struct trace_argument *argument)
{
	struct kept_argument head = { .name_bytes = argument->name_bytes,
				      .text_bytes = argument->text_bytes,
				      .number = argument->number,
				      .real = argument->real,
				      .kind = argument->kind };
	size_t old = kept ? kept->bytes : 0;
	size_t more = sizeof(head) + head.name_bytes + head.text_bytes;
	struct call_arguments *larger =
		realloc(kept, sizeof(*kept) + old + more);
	char *at;

	if (!larger)
		return kept;
	larger->bytes = old + more;
	at = larger->at + old;
	memcpy(at, &head, sizeof(head));
	if (head.name_bytes)
		memcpy(at + sizeof(head), argument->name, head.name_bytes);
	if (head.text_bytes)
		memcpy(at + sizeof(head) + head.name_bytes, argument->text,
		       head.text_bytes);
	return larger;
}

struct call_arguments *call_arguments_of(const struct trace_reader *reader,
					 const struct trace_event *event)
{
	struct call_arguments *kept = NULL;
	struct trace_event copy = *event;
	struct trace_argument argument;

	while (trace_argument_next(reader, &copy, &argument))
		kept = call_arguments_add(kept, &argument);
	return kept;
}

bool call_arguments_next(const struct call_arguments *kept, size_t *at,
			 struct trace_argument *out)
{
	struct kept_argument head;

	if (!kept || *at >= kept->bytes)
		return false;
	memcpy(&head, kept->at + *at, sizeof(head));
	*at += sizeof(head);
	*out = (struct trace_argument){
		.name = kept->at + *at,
		.name_bytes = head.name_bytes,
		.kind = head.kind,
		.number = head.number,
		.real = head.real,
		.text = kept->at + *at + head.name_bytes,
		.text_bytes = head.text_bytes,
	};
	*at += head.name_bytes + head.text_bytes;
	return true;
}

struct call_arguments *call_arguments_add_result(
	struct call_arguments *kept, const struct trace_reader *reader,
	const struct trace_event *event)
{
	const size_t bytes = strlen(CALL_RESULT);
	struct trace_event copy = *event;
	struct trace_argument argument;

	while (trace_argument_next(reader, &copy, &argument))
		if (argument.name_bytes >= bytes &&
		    !memcmp(argument.name, CALL_RESULT, bytes) &&
		    (argument.name_bytes == bytes ||
		     argument.name[bytes] == ' '))
			kept = call_arguments_add(kept, &argument);
	return kept;
}

/* --- conditions ---------------------------------------------------------- */

static struct argument_value condition_value(
	const struct trace_argument *argument)
{
	return (struct argument_value){
		.kind = argument->kind == TRACE_ARGUMENT_TEXT ? ARGUMENT_TEXT
			: argument->kind == TRACE_ARGUMENT_DOUBLE
				? ARGUMENT_REAL
			: argument->kind == TRACE_ARGUMENT_INT
				? ARGUMENT_SIGNED
				: ARGUMENT_UNSIGNED,
		.number = argument->number,
		.real = argument->real,
		.text = argument->text,
		.text_bytes = argument->text_bytes,
	};
}

uint32_t call_arguments_match(const struct trace_reader *reader,
			      const struct trace_event *event,
			      const struct argument_conditions *conditions,
			      uint32_t *named)
{
	struct trace_event copy = *event;
	struct trace_argument argument;
	uint32_t mask = 0;

	while (conditions && trace_argument_next(reader, &copy, &argument))
		for (uint32_t i = 0; i < conditions->count; i++) {
			const struct argument_condition *condition =
				&conditions->list[i];
			const struct argument_value value =
				condition_value(&argument);

			if (!argument_condition_names(condition, argument.name,
						      argument.name_bytes))
				continue;
			*named |= 1u << i;
			if (argument_condition_holds(condition, &value))
				mask |= 1u << i;
		}
	return mask;
}
