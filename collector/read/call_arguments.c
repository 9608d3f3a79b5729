/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/call_arguments.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "collector/names/call_layout.h"
#include "collector/options/argument_conditions.h"
#include "shared/compiler.h"

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

/* "size" stands for args.size, which --args records. */
static bool is_argument_of(const struct trace_argument *argument,
			   const struct argument_condition *condition)
{
	const size_t bytes = CALL_ARGUMENT_PREFIX_BYTES;

	if (trace_argument_is(argument, condition->name))
		return true;
	return argument->name_bytes == bytes + strlen(condition->name) &&
	       !memcmp(argument->name, CALL_ARGUMENT_PREFIX, bytes) &&
	       !memcmp(argument->name + bytes, condition->name,
		       argument->name_bytes - bytes);
}

/* Returns -1, 0 or 1: the argument is less, equal or greater; 2: neither. */
static int compare_number(const struct trace_argument *argument,
			  const struct argument_condition *condition)
{
	__int128 wanted = condition->magnitude, value = argument->number;

	if (argument->kind == TRACE_ARGUMENT_DOUBLE || !condition->is_whole) {
		double real = argument->kind == TRACE_ARGUMENT_DOUBLE
				      ? argument->real
			      : argument->kind == TRACE_ARGUMENT_INT
				      ? (double)(int64_t)argument->number
				      : (double)argument->number;

		return real < condition->number	   ? -1
		       : real > condition->number  ? 1
		       : real == condition->number ? 0
						   : 2;
	}
	if (condition->is_negative)
		wanted = -wanted;
	if (argument->kind == TRACE_ARGUMENT_INT)
		value = (int64_t)argument->number;
	return value < wanted ? -1 : value > wanted;
}

/* A text is compared as a glob. */
static bool is_equal_text(const struct trace_argument *argument,
			  const struct argument_condition *condition)
{
	char text[ARGUMENT_TEXT_BYTES];
	size_t bytes = MIN(argument->text_bytes, sizeof(text) - 1);

	if (bytes)
		memcpy(text, argument->text, bytes);
	text[bytes] = '\0';
	return !strcmp(text, condition->text) ||
	       !fnmatch(condition->text, text, 0);
}

static bool does_hold(const struct trace_argument *argument,
		      const struct argument_condition *condition)
{
	int order;

	if (argument->kind == TRACE_ARGUMENT_TEXT) {
		if (condition->greater != condition->less)
			return false;
		return is_equal_text(argument, condition) == condition->equal;
	}
	if (!condition->is_number)
		return false;
	order = compare_number(argument, condition);
	return order < 0    ? condition->less
	       : order == 0 ? condition->equal
	       : order == 1 ? condition->greater
			    : condition->greater && condition->less;
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
			if (!is_argument_of(&argument, &conditions->list[i]))
				continue;
			*named |= 1u << i;
			if (does_hold(&argument, &conditions->list[i]))
				mask |= 1u << i;
		}
	return mask;
}
