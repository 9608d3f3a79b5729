/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/call_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

#define CHUNK_LAYOUTS 256u
#define CHUNKS 1024u

struct call_layouts {
	uint32_t count;
	struct call_layout *chunk[CHUNKS];
};

/* --- a layout ------------------------------------------------------------- */

void call_layout_release(struct call_layout *layout)
{
	free(layout->result.names);
	for (uint32_t i = 0; i < layout->count; i++)
		free(layout->value[i].names);
	*layout = (struct call_layout){ 0 };
}

static bool copy_enumerators(struct call_value *value)
{
	const struct call_enumerator *names = value->names;
	size_t bytes = value->name_count * sizeof(*names);

	if (!names)
		return true;
	value->names = malloc(bytes);
	if (!value->names)
		return false;
	memcpy(value->names, names, bytes);
	return true;
}

bool call_layout_copy(const struct call_layout *from, struct call_layout *to)
{
	bool copied;

	*to = *from;
	copied = copy_enumerators(&to->result);
	for (uint32_t i = 0; i < to->count; i++)
		copied = copy_enumerators(&to->value[i]) && copied;
	if (!copied)
		call_layout_release(to);
	return copied;
}

struct call_value *call_layout_add(struct call_layout *layout)
{
	if (layout->count == CALL_VALUES_MAX)
		return NULL;
	layout->value[layout->count] = (struct call_value){ 0 };
	return &layout->value[layout->count++];
}

static enum thunk_text text_of_kind(uint8_t kind)
{
	switch (kind) {
	case CALL_VALUE_CHARS:
		return THUNK_TEXT_CHARS;
	case CALL_VALUE_STRING:
		return THUNK_TEXT_STRING;
	case CALL_VALUE_VIEW:
		return THUNK_TEXT_VIEW;
	default:
		return THUNK_TEXT_NONE;
	}
}

/* Returns true if @value is a text that is read; otherwise makes it another kind
 * of value. */
static bool settle_text(struct call_value *value, bool texts, bool has_room)
{
	enum thunk_text text = text_of_kind(value->kind);

	if (text == THUNK_TEXT_NONE || (texts && has_room))
		return text != THUNK_TEXT_NONE;
	value->kind = text == THUNK_TEXT_VIEW ? CALL_VALUE_UNREAD
					      : CALL_VALUE_POINTER;
	return false;
}

/* Rounds up to the counts that hooks store fast. */
static uint32_t round_words(uint32_t words)
{
	if (words <= 2)
		return words ? 2 : 0;
	if (words <= THUNK_WORDS_REGISTERS)
		return THUNK_WORDS_REGISTERS;
	if (words <= THUNK_WORDS_ALL)
		return THUNK_WORDS_ALL;
	return ALIGN_UP(words, 2u);
}

bool call_layout_settle(struct call_layout *layout, bool texts, uint32_t number,
			struct thunk_words *out)
{
	uint32_t words = 0, text_count = 0;

	*out = (struct thunk_words){ 0 };
	for (uint32_t i = 0; i < layout->count; i++) {
		struct call_value *value = &layout->value[i];
		const uint32_t end = value->word +
				     (value->kind == CALL_VALUE_VIEW ? 2u : 1u);

		if (end > THUNK_WORDS_MAX)
			value->kind = CALL_VALUE_UNREAD;
		if (settle_text(value, texts, text_count < THUNK_TEXTS_MAX)) {
			out->texts |= (uint64_t)text_of_kind(value->kind)
				      << (8 + 2 * value->word);
			text_count++;
		}
		if (value->kind != CALL_VALUE_NONE &&
		    value->kind != CALL_VALUE_UNREAD)
			words = MAX(words, end);
	}
	/* A call without any readable argument says so. */
	layout->words = round_words(MAX(words, layout->count ? 1u : 0u));
	out->texts |= layout->words;
	if (layout->words)
		out->entry = record_ext_word(EXT_WORDS, layout->words / 2,
					     number, 0);
	if (settle_text(&layout->result, texts, true))
		out->texts |= (uint64_t)text_of_kind(layout->result.kind) << 6;
	if (layout->result.kind != CALL_VALUE_NONE)
		out->exit = record_ext_word(EXT_WORDS, THUNK_WORDS_EXIT / 2,
					    number, 0);
	return out->entry || out->exit;
}

uint64_t call_value_extend(const struct call_value *value, uint64_t bits)
{
	uint32_t unused = 64 - 8 * MIN(value->bytes, 8u);

	if (!value->bytes || !unused)
		return bits;
	if (value->kind == CALL_VALUE_INT || value->kind == CALL_VALUE_ENUM)
		return (uint64_t)((int64_t)(bits << unused) >> unused);
	return bits << unused >> unused;
}

const char *call_value_enumerator(const struct call_value *value, uint64_t bits)
{
	for (uint32_t i = 0; i < value->name_count; i++)
		/* The sign of an enum's type is not known. */
		if (call_value_extend(value, (uint64_t)value->names[i].value) ==
		    call_value_extend(value, bits))
			return value->names[i].name;
	return NULL;
}

/* --- places --------------------------------------------------------------- */

static uint32_t place_on_stack(struct call_places *places, uint32_t words)
{
	uint32_t place = THUNK_WORDS_ALL + places->stack;

	/* Far below where the sum would be too large. */
	places->stack = MIN(places->stack + MIN(words, 65536u), 65536u);
	return place + words <= THUNK_WORDS_MAX ? place : CALL_PLACE_NONE;
}

uint32_t call_places_integer(struct call_places *places, uint32_t words)
{
	if (places->registers + words > THUNK_WORDS_REGISTERS)
		return place_on_stack(places, words);
	places->registers += words;
	return places->registers - words;
}

uint32_t call_places_float(struct call_places *places)
{
	if (places->vectors == THUNK_WORDS_ALL - THUNK_WORDS_REGISTERS)
		return place_on_stack(places, 1);
	return THUNK_WORDS_REGISTERS + places->vectors++;
}

/* --- numbers -------------------------------------------------------------- */

int call_layouts_new(struct call_layouts **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void call_layouts_free(struct call_layouts **layouts_ptr)
{
	struct call_layouts *layouts = *layouts_ptr;

	*layouts_ptr = NULL;
	if (!layouts)
		return;
	for (uint32_t i = 0; i < layouts->count; i++)
		call_layout_release(
			&layouts->chunk[i / CHUNK_LAYOUTS][i % CHUNK_LAYOUTS]);
	for (uint32_t i = 0; i < CHUNKS; i++)
		free(layouts->chunk[i]);
	free(layouts);
}

uint32_t call_layouts_next(const struct call_layouts *layouts)
{
	/* relaxed: the caller's own */
	uint32_t count = atom_load_rlx(&layouts->count);

	return count < CHUNKS * CHUNK_LAYOUTS ? count + 1 : 0;
}

int call_layouts_add(struct call_layouts *layouts, struct call_layout *layout)
{
	/* relaxed: the caller's own */
	uint32_t count = atom_load_rlx(&layouts->count);
	struct call_layout **chunk = &layouts->chunk[count / CHUNK_LAYOUTS];

	if (!*chunk)
		*chunk = calloc(CHUNK_LAYOUTS, sizeof(**chunk));
	if (!*chunk)
		return -ENOMEM;
	(*chunk)[count % CHUNK_LAYOUTS] = *layout;
	*layout = (struct call_layout){ 0 };
	/* order: rel, FUNCTIONS: the layout is whole */
	atom_store_rel(&layouts->count, count + 1);
	return 0;
}

const struct call_layout *call_layouts_find(const struct call_layouts *layouts,
					    uint32_t number)
{
	/* order: acq, FUNCTIONS: the layout is whole */
	if (!number || number > atom_load_acq(&layouts->count))
		return NULL;
	number--;
	return &layouts->chunk[number / CHUNK_LAYOUTS][number % CHUNK_LAYOUTS];
}
