/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_names - each entry of an InternedData has its iid as field 1. The rest is
 * the same on all sequences of threads that call the same functions.
 */
#include "collector/cut/cut_names.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define ENTRY_ROOM_BYTES (64u << 10)

#define KIND(tag) ((tag) >> 3)
#define KIND_CATEGORY KIND(TAG_INTERNED_DATA_EVENT_CATEGORIES)
#define KIND_NAME KIND(TAG_INTERNED_DATA_EVENT_NAMES)
#define KIND_KEY KIND(TAG_INTERNED_DATA_DEBUG_ANNOTATION_NAMES)
#define KIND_LOCATION KIND(TAG_INTERNED_DATA_SOURCE_LOCATIONS)
#define KIND_FUNCTION KIND(TAG_INTERNED_DATA_FUNCTION_NAMES)
#define KIND_FRAME KIND(TAG_INTERNED_DATA_FRAMES)
#define KIND_STACK KIND(TAG_INTERNED_DATA_CALLSTACKS)
#define KIND_BUILD_ID KIND(TAG_INTERNED_DATA_BUILD_IDS)
#define KIND_PATH KIND(TAG_INTERNED_DATA_MAPPING_PATHS)
#define KIND_MAPPING KIND(TAG_INTERNED_DATA_MAPPINGS)

_Static_assert(KIND_MAPPING < CUT_NAME_KINDS, "all kinds have a table");

struct cut_entry {
	const uint8_t *at;
	uint64_t count;
};

struct entry_room {
	struct entry_room *next;
	size_t used, room;
	uint8_t bytes[];
};

static uint64_t hash_entry(const void *item)
{
	const struct cut_entry *entry = item;

	return hash_fold(hash_words(HASH_START, entry->at, entry->count));
}

static bool is_same_entry(const void *a, const void *b)
{
	const struct cut_entry *left = a, *right = b;

	return left->count == right->count &&
	       memcmp(left->at, right->at, left->count) == 0;
}

static const struct pool_key g_entry_key = { hash_entry, is_same_entry };

void cut_entries_init(struct cut_entries *entries, struct budget *budget)
{
	*entries = (struct cut_entries){ .budget = budget };
	pool_init_key(&entries->pool, budget, sizeof(struct cut_entry),
		      &g_entry_key);
}

void cut_entries_release(struct cut_entries *entries)
{
	for (struct entry_room *room = entries->rooms, *next; room;
	     room = next) {
		next = room->next;
		free(room);
	}
	pool_release(&entries->pool);
	bytes_release(&entries->scratch);
}

static const uint8_t *keep_bytes(struct cut_entries *entries,
				 const struct cut_entry *entry)
{
	struct entry_room *room = entries->rooms;
	uint8_t *at;

	if (!room || room->room - room->used < entry->count) {
		size_t bytes = MAX((size_t)ENTRY_ROOM_BYTES, entry->count);

		if (!budget_take(entries->budget, sizeof(*room) + bytes))
			return NULL;
		room = malloc(sizeof(*room) + bytes);
		if (!room) {
			budget_give(entries->budget, sizeof(*room) + bytes);
			return NULL;
		}
		*room = (struct entry_room){ .next = entries->rooms,
					     .room = bytes };
		entries->rooms = room;
	}
	at = room->bytes + room->used;
	memcpy(at, entry->at, entry->count);
	room->used += entry->count;
	return at;
}

static uint32_t number_of(struct cut_entries *entries, struct cut_entry entry)
{
	uint32_t number;
	int added;

	if (pool_find(&entries->pool, &entry, &number))
		return number + 1;
	entry.at = keep_bytes(entries, &entry);
	added = entry.at ? pool_intern(&entries->pool, &entry, &number) : -1;
	if (added < 0 || number + 1 >= CUT_NAME_WRITTEN) {
		entries->refused++;
		return 0;
	}
	return number + 1;
}

static struct cut_entry split_entry(struct cut_entries *entries,
				    struct wire fields, uint64_t *iid)
{
	struct bytes *rest = &entries->scratch;
	struct wire_field field;
	const uint8_t *from;

	bytes_clear(rest);
	for (from = fields.at; wire_next(&fields, &field); from = fields.at)
		if (field.tag == TAG_EVENT_NAME_IID)
			*iid = field.value;
		else
			bytes_put(rest, from, (size_t)(fields.at - from));
	/* A stack may have no frames. */
	return (struct cut_entry){ rest->at ? rest->at : (const uint8_t *)"",
				   rest->count };
}

static void take_entry(struct cut_names *names, struct cut_entries *entries,
		       unsigned int kind, struct wire fields)
{
	struct trace_iids *iids = &names->kinds[kind];
	uint64_t iid = 0;
	struct cut_entry entry = split_entry(entries, fields, &iid);
	uint32_t number;

	if (entries->scratch.failed) {
		entries->refused++;
		return;
	}
	number = number_of(entries, entry);
	/* The same entry again, and the cut may have it. */
	if (!number ||
	    (trace_iids_get(iids, iid) & ~CUT_NAME_WRITTEN) == number)
		return;
	if (trace_iids_set(iids, entries->budget, iid, number) < 0)
		entries->refused++;
}

void cut_names_take(struct cut_names *names, struct cut_entries *entries,
		    struct wire interned)
{
	struct wire_field field;

	while (wire_next(&interned, &field)) {
		unsigned int kind = KIND(field.tag);

		if (field.bytes && kind < CUT_NAME_KINDS)
			take_entry(names, entries, kind, wire_of(&field));
	}
}

void cut_names_restart(struct cut_names *names)
{
	for (unsigned int i = 0; i < CUT_NAME_KINDS; i++)
		for (uint32_t iid = 0; iid < names->kinds[i].room; iid++)
			names->kinds[i].number[iid] &= ~CUT_NAME_WRITTEN;
}

void cut_names_clear(struct cut_names *names, struct cut_entries *entries)
{
	for (unsigned int i = 0; i < CUT_NAME_KINDS; i++)
		trace_iids_clear(&names->kinds[i], entries->budget);
}

/* --- use ----------------------------------------------------------------- */

/* Returns the kind of entry that field @tag of a @kind refers to, or 0. */
static unsigned int kind_referred(unsigned int kind, uint32_t tag)
{
	if (kind == KIND_STACK && tag == TAG_CALLSTACK_FRAME_IDS)
		return KIND_FRAME;
	if (kind == KIND_FRAME && tag == TAG_FRAME_FUNCTION_NAME_ID)
		return KIND_FUNCTION;
	if (kind == KIND_FRAME && tag == TAG_FRAME_MAPPING_ID)
		return KIND_MAPPING;
	if (kind == KIND_MAPPING && tag == TAG_MAPPING_BUILD_ID)
		return KIND_BUILD_ID;
	if (kind == KIND_MAPPING && tag == TAG_MAPPING_PATH_STRING_IDS)
		return KIND_PATH;
	return 0;
}

/* References lead from stacks to frames to mappings to texts, never back, so
 * hostile traces cannot make this recurse forever. */
static void use_referred(struct cut_names *names, struct cut_entries *entries,
			 unsigned int kind, struct wire fields,
			 struct bytes *interned)
{
	struct wire_field field;

	if (kind != KIND_STACK && kind != KIND_FRAME && kind != KIND_MAPPING)
		return;
	while (wire_next(&fields, &field)) {
		unsigned int other = kind_referred(kind, field.tag);

		if (other)
			cut_names_use(names, entries, other, field.value,
				      interned);
	}
}

void cut_names_use(struct cut_names *names, struct cut_entries *entries,
		   unsigned int kind, uint64_t iid, struct bytes *interned)
{
	struct trace_iids *iids = &names->kinds[kind];
	const struct cut_entry *entry;

	if (cut_names_ready(names, kind, iid))
		return;
	entry = (const struct cut_entry *)entries->pool.items +
		(iids->number[iid] - 1);
	iids->number[iid] |= CUT_NAME_WRITTEN;
	use_referred(names, entries, kind,
		     (struct wire){ entry->at, entry->at + entry->count },
		     interned);
	bytes_field(interned, kind << 3 | TRACE_WIRE_BYTES,
		    bytes_field_size(TAG_EVENT_NAME_IID, iid) + entry->count);
	bytes_field(interned, TAG_EVENT_NAME_IID, iid);
	bytes_put(interned, entry->at, entry->count);
}

uint64_t cut_names_use_from(struct cut_names *names,
			    struct cut_entries *entries, unsigned int kind,
			    uint64_t iid, size_t most, struct bytes *interned)
{
	while (iid < names->kinds[kind].room && interned->count < most)
		cut_names_use(names, entries, kind, iid++, interned);
	return iid < names->kinds[kind].room ? iid : 0;
}

static void use_key(struct cut_names *names, struct cut_entries *entries,
		    struct wire annotation, struct bytes *interned)
{
	struct wire_field field;

	while (wire_next(&annotation, &field))
		if (field.tag == TAG_DEBUG_ANNOTATION_NAME_IID)
			cut_names_use(names, entries, KIND_KEY, field.value,
				      interned);
}

void cut_names_use_event(struct cut_names *names, struct cut_entries *entries,
			 struct wire event, struct bytes *interned)
{
	struct wire_field field;

	while (wire_next(&event, &field))
		switch (field.tag) {
		case TAG_TRACK_EVENT_NAME_IID:
			cut_names_use(names, entries, KIND_NAME, field.value,
				      interned);
			break;
		case TAG_TRACK_EVENT_CATEGORY_IIDS:
			cut_names_use(names, entries, KIND_CATEGORY,
				      field.value, interned);
			break;
		case TAG_TRACK_EVENT_SOURCE_LOCATION_IID:
			cut_names_use(names, entries, KIND_LOCATION,
				      field.value, interned);
			break;
		case TAG_TRACK_EVENT_DEBUG_ANNOTATIONS:
			use_key(names, entries, wire_of(&field), interned);
			break;
		}
}

void cut_names_use_sample(struct cut_names *names, struct cut_entries *entries,
			  struct wire sample, struct bytes *interned)
{
	struct wire_field field;

	while (wire_next(&sample, &field))
		if (field.tag == TAG_PERF_SAMPLE_CALLSTACK_IID)
			cut_names_use(names, entries, KIND_STACK, field.value,
				      interned);
}

static void use_dump(struct cut_names *names, struct cut_entries *entries,
		     struct wire dump, struct bytes *interned)
{
	struct wire_field field;

	while (wire_next(&dump, &field)) {
		struct wire sample = wire_of(&field);

		if (field.tag !=
		    TAG_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_SAMPLES)
			continue;
		while (wire_next(&sample, &field))
			if (field.tag ==
			    TAG_PROFILE_PACKET_HEAP_SAMPLE_CALLSTACK_ID)
				cut_names_use(names, entries, KIND_STACK,
					      field.value, interned);
	}
}

void cut_names_use_heap(struct cut_names *names, struct cut_entries *entries,
			struct wire heap, struct bytes *interned)
{
	struct wire_field field;

	while (wire_next(&heap, &field))
		if (field.tag == TAG_PROFILE_PACKET_PROCESS_DUMPS)
			use_dump(names, entries, wire_of(&field), interned);
}
