/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_interned - every entry of an InternedData has its iid in field 1; names
 * of all kinds have the text in field 2.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/read/trace_read_inner.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* Frames of a stack beyond this are skipped. */
#define STACK_FRAMES_MAX 4096

/* A pool needs a multiple of 8 bytes without padding. */
struct location_item {
	struct trace_location at;
	uint32_t zero;
};

_Static_assert(sizeof(struct location_item) % 8 == 0, "a key of a pool");

void interned_init(struct trace_reader *reader)
{
	pool_init(&reader->locations, &reader->budget,
		  sizeof(struct location_item), sizeof(struct location_item));
}

void interned_release(struct trace_reader *reader)
{
	pool_release(&reader->locations);
	free(reader->frames);
	free(reader->stacks);
	free(reader->stack_frames);
	free(reader->shown_stack);
}

void interned_clear(struct trace_reader *reader, struct sequence *sequence)
{
	for (unsigned int i = 0; i < IID_KINDS; i++)
		trace_iids_clear(&sequence->iids[i], &reader->budget);
}

static void set_iid(struct trace_reader *reader, struct sequence *sequence,
		    enum iid_kind kind, uint64_t iid, uint32_t number)
{
	if (trace_iids_set(&sequence->iids[kind], &reader->budget, iid,
			   number) < 0)
		reader_refuse(reader);
}

static void take_text(struct trace_reader *reader, struct sequence *sequence,
		      enum iid_kind kind, struct wire fields)
{
	uint64_t iid = 0;
	uint32_t number = 0;
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_EVENT_NAME_IID)
			iid = field.value;
		else if (field.tag == TAG_EVENT_NAME_NAME)
			number = trace_texts_number(&reader->texts, field.bytes,
						    field.value);
	set_iid(reader, sequence, kind, iid, number);
}

static void take_location(struct trace_reader *reader,
			  struct sequence *sequence, struct wire fields)
{
	struct location_item item = { 0 };
	uint64_t iid = 0;
	uint32_t number;
	struct wire_field field;

	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_SOURCE_LOCATION_IID:
			iid = field.value;
			break;
		case TAG_SOURCE_LOCATION_FILE_NAME:
			item.at.file = trace_texts_number(
				&reader->texts, field.bytes, field.value);
			break;
		case TAG_SOURCE_LOCATION_FUNCTION_NAME:
			item.at.function = trace_texts_number(
				&reader->texts, field.bytes, field.value);
			break;
		case TAG_SOURCE_LOCATION_LINE_NUMBER:
			item.at.line = (uint32_t)field.value;
			break;
		}
	if (pool_intern(&reader->locations, &item, &number) < 0)
		reader_refuse(reader);
	else
		set_iid(reader, sequence, IID_LOCATION, iid, number + 1);
}

static void take_mapping(struct trace_reader *reader, struct sequence *sequence,
			 struct wire fields)
{
	uint64_t iid = 0, path = 0;
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_MAPPING_IID)
			iid = field.value;
		else if (field.tag == TAG_MAPPING_PATH_STRING_IDS)
			path = field.value;
	set_iid(reader, sequence, IID_MAPPING, iid,
		trace_iids_get(&sequence->iids[IID_PATH], path));
}

static void take_frame(struct trace_reader *reader, struct sequence *sequence,
		       struct wire fields)
{
	struct trace_frame frame = { 0 };
	uint64_t iid = 0;
	struct wire_field field;

	while (wire_next(&fields, &field))
		switch (field.tag) {
		case TAG_FRAME_IID:
			iid = field.value;
			break;
		case TAG_FRAME_FUNCTION_NAME_ID:
			frame.function = trace_iids_get(
				&sequence->iids[IID_FUNCTION], field.value);
			break;
		case TAG_FRAME_MAPPING_ID:
			frame.module = trace_iids_get(
				&sequence->iids[IID_MAPPING], field.value);
			break;
		case TAG_FRAME_REL_PC:
			frame.address = field.value;
			break;
		}
	if (grow_array_from(&reader->budget, reader->frames, reader->frame_room,
			    reader->frame_count + 1)) {
		reader_refuse(reader);
		return;
	}
	reader->frames[reader->frame_count++] = frame;
	set_iid(reader, sequence, IID_FRAME, iid, reader->frame_count);
}

static void add_frame(struct trace_reader *reader, struct stack *stack,
		      uint32_t frame)
{
	if (stack->count == STACK_FRAMES_MAX ||
	    grow_array_from(&reader->budget, reader->stack_frames,
			    reader->stack_frame_room,
			    reader->stack_frame_count + 1)) {
		reader_refuse(reader);
		return;
	}
	reader->stack_frames[reader->stack_frame_count++] = frame;
	stack->count++;
}

static void take_stack(struct trace_reader *reader, struct sequence *sequence,
		       struct wire fields)
{
	struct stack stack = { .first = reader->stack_frame_count };
	uint64_t iid = 0;
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_CALLSTACK_IID)
			iid = field.value;
		else if (field.tag == TAG_CALLSTACK_FRAME_IDS)
			add_frame(reader, &stack,
				  trace_iids_get(&sequence->iids[IID_FRAME],
						 field.value));
	if (grow_array_from(&reader->budget, reader->stacks, reader->stack_room,
			    reader->stack_count + 1)) {
		reader_refuse(reader);
		return;
	}
	reader->stacks[reader->stack_count++] = stack;
	set_iid(reader, sequence, IID_STACK, iid, reader->stack_count);
}

void interned_take(struct trace_reader *reader, struct sequence *sequence,
		   struct wire fields)
{
	struct wire_field field;

	while (wire_next(&fields, &field)) {
		struct wire entry = wire_of(&field);

		switch (field.tag) {
		case TAG_INTERNED_DATA_EVENT_NAMES:
			take_text(reader, sequence, IID_NAME, entry);
			break;
		case TAG_INTERNED_DATA_EVENT_CATEGORIES:
			take_text(reader, sequence, IID_CATEGORY, entry);
			break;
		case TAG_INTERNED_DATA_DEBUG_ANNOTATION_NAMES:
			take_text(reader, sequence, IID_ARGUMENT, entry);
			break;
		case TAG_INTERNED_DATA_SOURCE_LOCATIONS:
			take_location(reader, sequence, entry);
			break;
		case TAG_INTERNED_DATA_FUNCTION_NAMES:
			take_text(reader, sequence, IID_FUNCTION, entry);
			break;
		case TAG_INTERNED_DATA_MAPPING_PATHS:
			take_text(reader, sequence, IID_PATH, entry);
			break;
		case TAG_INTERNED_DATA_MAPPINGS:
			take_mapping(reader, sequence, entry);
			break;
		case TAG_INTERNED_DATA_FRAMES:
			take_frame(reader, sequence, entry);
			break;
		case TAG_INTERNED_DATA_CALLSTACKS:
			take_stack(reader, sequence, entry);
			break;
		}
	}
}

struct trace_location trace_reader_location(const struct trace_reader *reader,
					    uint32_t number)
{
	const struct location_item *items = reader->locations.items;

	if (!number || number > reader->locations.count)
		return (struct trace_location){ 0 };
	return items[number - 1].at;
}

uint32_t trace_reader_stack(struct trace_reader *reader, uint32_t number,
			    const struct trace_frame **out)
{
	struct stack stack;

	*out = NULL;
	if (!number || number > reader->stack_count)
		return 0;
	stack = reader->stacks[number - 1];
	if (grow_array_from(&reader->budget, reader->shown_stack,
			    reader->shown_room, stack.count + 1))
		return 0;
	for (uint32_t i = 0; i < stack.count; i++) {
		uint32_t frame = reader->stack_frames[stack.first + i];

		reader->shown_stack[i] = frame ? reader->frames[frame - 1]
					       : (struct trace_frame){ 0 };
	}
	*out = reader->shown_stack;
	return stack.count;
}
