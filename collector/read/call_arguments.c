/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/call_arguments.h"

#include <stdlib.h>
#include <string.h>

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
