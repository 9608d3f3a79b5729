/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/otlp_dictionary.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/push/pack.h"
#include "collector/push/texts.h"
#include "proto/otlp.pb-c.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define BUILD_ID_KEY "process.executable.build_id.gnu"

/* Items of the pools. Texts are numbers of otlp->texts; places in a row of
 * numbers are counted from the beginning of otlp->numbers. */
struct row {
	uint32_t first, count;
};

struct mapping_item {
	uint64_t start, end, offset;
	uint32_t path, attribute;
};

struct function_item {
	uint32_t name, file, start_line, zero;
};

struct location_item {
	uint64_t address;
	uint32_t mapping, zero;
	struct row lines; /* pairs of function and line */
};

struct attribute_item {
	uint64_t number;
	uint32_t key, text; /* text 0: the value is @number */
};

/* Where the key of a pool's items finds the numbers that they refer to. */
static _Thread_local const uint32_t *g_numbers;

struct otlp {
	struct texts texts;
	struct pool mappings, functions, attributes, links;
	struct pool locations, stacks; /* their keys have rows of numbers */
	uint32_t *numbers;
	uint32_t number_count, number_room;
	int err; /* the first */
};

/* --- adding to it -------------------------------------------------------- */

static uint64_t hash_row(const void *item)
{
	const struct row *row = item;

	return hash_fold(hash_words(HASH_START, g_numbers + row->first,
				    row->count * sizeof(*g_numbers)));
}

static bool is_same_row(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->count == y->count &&
	       !memcmp(g_numbers + x->first, g_numbers + y->first,
		       x->count * sizeof(*g_numbers));
}

static uint64_t hash_location(const void *item)
{
	const struct location_item *one = item;

	return hash_row(&one->lines) ^
	       hash_fold(hash_bytes(HASH_START, one,
				    offsetof(struct location_item, lines)));
}

static bool is_same_location(const void *a, const void *b)
{
	const struct location_item *x = a, *y = b;

	return x->address == y->address && x->mapping == y->mapping &&
	       is_same_row(&x->lines, &y->lines);
}

static const struct pool_key stack_key = { hash_row, is_same_row };
static const struct pool_key location_key = { hash_location, is_same_location };

static void fail_otlp(struct otlp *otlp, int err)
{
	if (!otlp->err)
		otlp->err = err;
}

/* The number of @item in @pool, whose message numbers are int32. */
static uint32_t intern(struct otlp *otlp, struct pool *pool, const void *item)
{
	uint32_t number = 0;
	int added;

	g_numbers = otlp->numbers;
	added = pool_intern(pool, item, &number);
	if (added < 0)
		fail_otlp(otlp, added);
	return added < 0 ? 0 : number;
}

/* As intern() for an item with the last @count numbers put; removes these
 * numbers if the item exists. */
static uint32_t intern_row(struct otlp *otlp, struct pool *pool,
			   const void *item, uint32_t count)
{
	const uint32_t before = pool->count;
	uint32_t number = intern(otlp, pool, item);

	if (pool->count == before)
		otlp->number_count -= count;
	return number;
}

/* Makes room for @count numbers; returns where they go, or NULL. */
static uint32_t *add_numbers(struct otlp *otlp, size_t count)
{
	uint32_t *to;

	if (count > INT32_MAX - otlp->number_count ||
	    grow_array(otlp->numbers, otlp->number_room,
		       otlp->number_count + count)) {
		fail_otlp(otlp, -ENOMEM);
		return NULL;
	}
	to = otlp->numbers + otlp->number_count;
	otlp->number_count += (uint32_t)count;
	return to;
}

uint32_t otlp_add_text(struct otlp *otlp, const char *text)
{
	uint32_t number = texts_number(&otlp->texts, text);

	if (otlp->texts.err)
		fail_otlp(otlp, otlp->texts.err);
	return number;
}

uint32_t otlp_add_attribute(struct otlp *otlp, const char *key,
			    const char *text, int64_t number)
{
	const struct attribute_item item = {
		.key = otlp_add_text(otlp, key),
		.text = otlp_add_text(otlp, text),
		.number = *text ? 0 : (uint64_t)number,
	};

	return intern(otlp, &otlp->attributes, &item);
}

static uint32_t add_mapping(struct otlp *otlp, const struct pprof *from,
			    uint32_t index)
{
	struct mapping_item item = { 0 };
	const struct pprof_mapping *one;

	if (index == PPROF_NONE)
		return 0;
	one = &from->mappings[index];
	item.start = one->start;
	item.end = one->end;
	item.offset = one->offset;
	item.path = otlp_add_text(otlp, one->path);
	if (*one->build_id)
		item.attribute = otlp_add_attribute(otlp, BUILD_ID_KEY,
						    one->build_id, 0);
	return intern(otlp, &otlp->mappings, &item);
}

uint32_t otlp_add_location(struct otlp *otlp, const struct pprof *from,
			   uint32_t index)
{
	const struct pprof_location *one = &from->locations[index];
	const uint32_t count = 2 * one->line_count;
	struct location_item item = { .address = one->address };
	uint32_t *to;

	item.mapping = add_mapping(otlp, from, one->mapping);
	item.lines.first = otlp->number_count;
	item.lines.count = count;
	to = add_numbers(otlp, count);
	for (uint32_t i = 0; to && i < one->line_count; i++) {
		const struct pprof_function *line =
			&from->functions[one->lines[i].function];
		const struct function_item function = {
			.name = otlp_add_text(otlp, line->name),
			.file = otlp_add_text(otlp, line->file),
			.start_line = line->start_line,
		};

		to[2 * i] = intern(otlp, &otlp->functions, &function);
		to[2 * i + 1] = one->lines[i].line;
	}
	return to ? intern_row(otlp, &otlp->locations, &item, count) : 0;
}

uint32_t otlp_add_stack(struct otlp *otlp, const struct pprof_sample *sample,
			const uint32_t *locations)
{
	const struct row row = { otlp->number_count, sample->depth };
	uint32_t *to = add_numbers(otlp, sample->depth);

	for (uint32_t i = 0; to && i < sample->depth; i++)
		to[i] = locations[sample->stack[i]];
	return to ? intern_row(otlp, &otlp->stacks, &row, row.count) : 0;
}

uint32_t otlp_add_link(struct otlp *otlp, const struct otlp_link *link)
{
	return intern(otlp, &otlp->links, link);
}

int otlp_error(const struct otlp *otlp)
{
	return otlp->err;
}

/* --- the whole ----------------------------------------------------------- */

int otlp_new(struct otlp **out)
{
	static const struct mapping_item no_mapping;
	static const struct function_item no_function;
	static const struct location_item no_location;
	static const struct attribute_item no_attribute;
	static const struct otlp_link no_link;
	static const struct row no_stack;
	struct otlp *otlp = calloc(1, sizeof(*otlp));

	*out = otlp;
	if (!otlp)
		return -ENOMEM;
	texts_init(&otlp->texts);
	pool_init(&otlp->mappings, NULL, sizeof(no_mapping),
		  sizeof(no_mapping));
	pool_init(&otlp->functions, NULL, sizeof(no_function),
		  sizeof(no_function));
	pool_init(&otlp->attributes, NULL, sizeof(no_attribute),
		  sizeof(no_attribute));
	pool_init(&otlp->links, NULL, sizeof(no_link), sizeof(no_link));
	pool_init_key(&otlp->locations, NULL, sizeof(no_location),
		      &location_key);
	pool_init_key(&otlp->stacks, NULL, sizeof(no_stack), &stack_key);
	/* So that no row of numbers begins at NULL. */
	if (grow_array(otlp->numbers, otlp->number_room, 1))
		otlp->err = -ENOMEM;
	if (!otlp->err) {
		intern(otlp, &otlp->mappings, &no_mapping);
		intern(otlp, &otlp->functions, &no_function);
		intern(otlp, &otlp->attributes, &no_attribute);
		intern(otlp, &otlp->links, &no_link);
		intern(otlp, &otlp->locations, &no_location);
		intern(otlp, &otlp->stacks, &no_stack);
	}
	return otlp->err ? otlp->err : otlp->texts.err;
}

void otlp_free(struct otlp *otlp)
{
	texts_release(&otlp->texts);
	pool_release(&otlp->mappings);
	pool_release(&otlp->functions);
	pool_release(&otlp->attributes);
	pool_release(&otlp->links);
	pool_release(&otlp->locations);
	pool_release(&otlp->stacks);
	free(otlp->numbers);
	free(otlp);
}

/* --- packing the dictionary --------------------------------------------------
 *
 * Each element is packed alone, as field @tag of the dictionary.
 */

#define TAG_DICTIONARY 0x12 /* of the request */
#define TAG_MAPPING 0x0a
#define TAG_LOCATION 0x12
#define TAG_FUNCTION 0x1a
#define TAG_LINK 0x22
#define TAG_STRING 0x2a
#define TAG_ATTRIBUTE 0x32
#define TAG_STACK 0x3a

static void put_element(struct bytes *out, uint32_t tag,
			const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	uint8_t *to;

	bytes_field(out, tag, size);
	to = size ? bytes_add(out, size) : NULL;
	if (to)
		protobuf_c_message_pack(message, to);
}

static void put_mappings(const struct otlp *otlp, struct bytes *out)
{
	const struct mapping_item *item = otlp->mappings.items;

	for (uint32_t i = 0; i < otlp->mappings.count; i++, item++) {
		Otlp__Mapping mapping = OTLP__MAPPING__INIT;
		int32_t attribute = (int32_t)item->attribute;

		if (i) {
			SET(&mapping, memory_start, item->start);
			SET(&mapping, memory_limit, item->end);
			SET(&mapping, file_offset, item->offset);
			SET(&mapping, filename_strindex, (int32_t)item->path);
			mapping.attribute_indices = &attribute;
			mapping.n_attribute_indices = attribute ? 1 : 0;
		}
		put_element(out, TAG_MAPPING, &mapping.base);
	}
}

static void put_otlp_functions(const struct otlp *otlp, struct bytes *out)
{
	const struct function_item *item = otlp->functions.items;

	for (uint32_t i = 0; i < otlp->functions.count; i++, item++) {
		Otlp__Function function = OTLP__FUNCTION__INIT;

		if (i) {
			SET(&function, name_strindex, (int32_t)item->name);
			SET(&function, system_name_strindex,
			    (int32_t)item->name);
			SET(&function, filename_strindex, (int32_t)item->file);
			SET(&function, start_line, item->start_line);
		}
		put_element(out, TAG_FUNCTION, &function.base);
	}
}

/* Packs a location with @lines, which has room for its lines. */
static void put_dictionary_location(const struct location_item *item,
				    const uint32_t *numbers, Otlp__Line *lines,
				    Otlp__Line **line_list, struct bytes *out)
{
	Otlp__Location location = OTLP__LOCATION__INIT;

	SET(&location, mapping_index, (int32_t)item->mapping);
	SET(&location, address, item->address);
	for (uint32_t i = 0; i < item->lines.count / 2; i++) {
		const uint32_t *pair = numbers + item->lines.first + 2 * i;

		otlp__line__init(&lines[i]);
		SET(&lines[i], function_index, (int32_t)pair[0]);
		SET(&lines[i], line, pair[1]);
		line_list[i] = &lines[i];
	}
	location.lines = line_list;
	location.n_lines = item->lines.count / 2;
	put_element(out, TAG_LOCATION, &location.base);
}

static int put_locations(const struct otlp *otlp, struct bytes *out)
{
	const struct location_item *items = otlp->locations.items;
	const Otlp__Location none = OTLP__LOCATION__INIT;
	Otlp__Line *lines, **line_list;
	uint32_t most = 0;
	int err = -ENOMEM;

	for (uint32_t i = 0; i < otlp->locations.count; i++)
		most = MAX(most, items[i].lines.count / 2);
	NEW(lines, most);
	NEW(line_list, most);
	if (lines && line_list) {
		put_element(out, TAG_LOCATION, &none.base);
		for (uint32_t i = 1; i < otlp->locations.count; i++)
			put_dictionary_location(&items[i], otlp->numbers, lines,
						line_list, out);
		err = 0;
	}
	free(lines);
	free(line_list);
	return err;
}

static void put_otlp_attributes(const struct otlp *otlp, struct bytes *out)
{
	const struct attribute_item *item = otlp->attributes.items;

	for (uint32_t i = 0; i < otlp->attributes.count; i++, item++) {
		Otlp__KeyValueAndUnit pair = OTLP__KEY_VALUE_AND_UNIT__INIT;
		Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;

		if (i) {
			SET(&pair, key_strindex, (int32_t)item->key);
			pair.value = &value;
			if (item->text)
				value.string_value =
					otlp->texts.list[item->text];
			else
				SET(&value, int_value, (int64_t)item->number);
		}
		put_element(out, TAG_ATTRIBUTE, &pair.base);
	}
}

int otlp_put_dictionary(const struct otlp *otlp, struct bytes *body)
{
	struct bytes dictionary = { 0 };
	int err = put_locations(otlp, &dictionary);

	if (!err) {
		struct otlp_link *item;
		const struct row *row;

		put_mappings(otlp, &dictionary);
		put_otlp_functions(otlp, &dictionary);
		item = otlp->links.items;
		for (uint32_t i = 0; i < otlp->links.count; i++, item++) {
			Otlp__Link link = OTLP__LINK__INIT;

			link.has_trace_id = link.has_span_id = i > 0;
			link.trace_id.data = item->trace_id;
			link.trace_id.len = sizeof(item->trace_id);
			link.span_id.data = item->span_id;
			link.span_id.len = sizeof(item->span_id);
			put_element(&dictionary, TAG_LINK, &link.base);
		}
		for (uint32_t i = 0; i < otlp->texts.count; i++)
			bytes_part(&dictionary, TAG_STRING, otlp->texts.list[i],
				   strlen(otlp->texts.list[i]));
		put_otlp_attributes(otlp, &dictionary);
		row = otlp->stacks.items;
		for (uint32_t i = 0; i < otlp->stacks.count; i++, row++) {
			Otlp__Stack stack = OTLP__STACK__INIT;

			stack.location_indices =
				(int32_t *)otlp->numbers + row->first;
			stack.n_location_indices = row->count;
			put_element(&dictionary, TAG_STACK, &stack.base);
		}
		bytes_part(body, TAG_DICTIONARY, dictionary.at,
			   dictionary.count);
		err = dictionary.failed || body->failed ? -ENOMEM : 0;
	}
	bytes_release(&dictionary);
	return err;
}
