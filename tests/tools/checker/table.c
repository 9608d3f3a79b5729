/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tools/checker/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *table_grow(void *memory, size_t count, size_t size)
{
	void *grown = reallocarray(memory, count, size);

	if (!grown) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return grown;
}

static uint64_t mix(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ULL;
	return key ^ key >> 29;
}

/* Where @key is, or the free entry where it belongs. */
static struct table_entry *find(const struct table *table, uint64_t key)
{
	size_t at = mix(key) & (table->room - 1);

	while (table->entries[at].used && table->entries[at].key != key)
		at = (at + 1) & (table->room - 1);
	return &table->entries[at];
}

static void table_double(struct table *table)
{
	struct table old = *table;

	table->room = old.room ? old.room * 2 : 64;
	table->entries = table_grow(NULL, table->room, sizeof(*old.entries));
	memset(table->entries, 0, table->room * sizeof(*table->entries));
	for (size_t i = 0; i < old.room; i++)
		if (old.entries[i].used)
			*find(table, old.entries[i].key) = old.entries[i];
	free(old.entries);
}

uint64_t *table_at(struct table *table, uint64_t key)
{
	struct table_entry *entry;

	if (table->count * 2 >= table->room)
		table_double(table);
	entry = find(table, key);
	if (!entry->used) {
		*entry = (struct table_entry){ .key = key, .used = 1 };
		table->count++;
	}
	return &entry->value;
}

const uint64_t *table_find(const struct table *table, uint64_t key)
{
	const struct table_entry *entry = table->room ? find(table, key) : NULL;

	return entry && entry->used ? &entry->value : NULL;
}

void table_release(struct table *table)
{
	free(table->entries);
	*table = (struct table){ 0 };
}

static uint64_t hash_text(const void *text, size_t length)
{
	const unsigned char *bytes = text;
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	return mix(hash);
}

static uint32_t *find_text(const struct strings *strings, const void *text,
			   size_t length)
{
	size_t at = hash_text(text, length) & (strings->slot_room - 1);

	for (;; at = (at + 1) & (strings->slot_room - 1)) {
		uint32_t number = strings->slots[at];

		if (!number ||
		    (strings->lengths[number - 1] == length &&
		     !memcmp(strings->texts[number - 1], text, length)))
			return &strings->slots[at];
	}
}

static void strings_double(struct strings *strings)
{
	strings->slot_room = strings->slot_room ? strings->slot_room * 2 : 256;
	free(strings->slots);
	strings->slots = table_grow(NULL, strings->slot_room, sizeof(uint32_t));
	memset(strings->slots, 0, strings->slot_room * sizeof(uint32_t));
	for (uint32_t i = 0; i < strings->count; i++)
		*find_text(strings, strings->texts[i], strings->lengths[i]) =
			i + 1;
}

uint32_t strings_add(struct strings *strings, const void *text, size_t length)
{
	uint32_t *slot;
	char *copy;

	if (strings->count * 2 >= strings->slot_room)
		strings_double(strings);
	slot = find_text(strings, text, length);
	if (*slot)
		return *slot - 1;
	if (strings->count == strings->room) {
		strings->room = strings->room ? strings->room * 2 : 256;
		strings->texts = table_grow(strings->texts, strings->room,
					    sizeof(char *));
		strings->lengths = table_grow(strings->lengths, strings->room,
					      sizeof(size_t));
	}
	copy = table_grow(NULL, length + 1, 1);
	memcpy(copy, text, length);
	copy[length] = '\0';
	strings->texts[strings->count] = copy;
	strings->lengths[strings->count] = length;
	*slot = ++strings->count;
	return *slot - 1;
}

void strings_release(struct strings *strings)
{
	for (uint32_t i = 0; i < strings->count; i++)
		free(strings->texts[i]);
	free(strings->texts);
	free(strings->lengths);
	free(strings->slots);
	*strings = (struct strings){ 0 };
}
