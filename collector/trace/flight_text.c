/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/flight_text.h"

#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"

/* Threads that record little have small parts. */
#define PART_BYTES_FIRST 1024u
#define PART_BYTES_MOST 16384u

struct flight_text *flight_text_new(void)
{
	struct flight_text *text = calloc(1, sizeof(*text));

	if (text) {
		text->holders = 1;
		text->memory = sizeof(*text);
	}
	return text;
}

void flight_text_drop(struct flight_text *text)
{
	struct flight_part *part, *next;

	if (!text || --text->holders)
		return;
	for (part = text->first; part; part = next) {
		next = part->next;
		free(part);
	}
	free(text);
}

static struct flight_part *add_part(struct flight_text *text, size_t bytes)
{
	size_t room = text->last ? 2 * (size_t)text->last->room
				 : PART_BYTES_FIRST - sizeof(*text->last);
	struct flight_part *part;

	room = MAX(MIN(room, PART_BYTES_MOST - sizeof(*part)), bytes);
	part = malloc(sizeof(*part) + room);
	if (!part)
		return NULL;
	*part = (struct flight_part){ .room = (uint32_t)room };
	if (text->last)
		text->last->next = part;
	else
		text->first = part;
	text->last = part;
	text->memory += sizeof(*part) + room;
	return part;
}

bool flight_text_put(struct flight_text *text, const void *from, size_t bytes)
{
	struct flight_part *part = text->last;

	if (!bytes)
		return true;
	if (!part || part->room - part->bytes < bytes)
		part = add_part(text, bytes);
	if (!part)
		return false;
	memcpy(part->at + part->bytes, from, bytes);
	part->bytes += (uint32_t)bytes;
	return true;
}

void flight_text_trim(struct flight_text *text)
{
	struct flight_part *part = text->last, *before = NULL, *trimmed;

	if (!part || text->holders > 1)
		return;
	for (struct flight_part *one = text->first; one != part;
	     one = one->next)
		before = one;
	trimmed = realloc(part, sizeof(*part) + part->bytes);
	if (!trimmed)
		return;
	text->memory -= trimmed->room - trimmed->bytes;
	trimmed->room = trimmed->bytes;
	text->last = trimmed;
	if (before)
		before->next = trimmed;
	else
		text->first = trimmed;
}

struct flight_cut flight_text_cut(struct flight_text *text)
{
	text->holders++;
	return (struct flight_cut){
		.text = text,
		.last = text->last,
		.last_bytes = text->last ? text->last->bytes : 0,
	};
}

bool flight_cut_next(const struct flight_cut *cut, struct flight_part **part,
		     uint32_t *bytes)
{
	if (!cut->last || *part == cut->last)
		return false;
	*part = *part ? (*part)->next : cut->text->first;
	*bytes = *part == cut->last ? cut->last_bytes : (*part)->bytes;
	return true;
}
