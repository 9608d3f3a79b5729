/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/index_interned.h"

#include <errno.h>

#include "collector/base/protobuf.h"
#include "collector/read/trace_index.h"
#include "collector/trace/fields.h"

struct interned_kinds {
	uint64_t key; /* sequence << 32 | iid */
	uint64_t has;
};

static int note(struct index_interned *interned, uint64_t sequence,
		uint64_t iid, uint64_t has)
{
	const struct interned_kinds item = { sequence << 32 | (uint32_t)iid,
					     0 };
	struct interned_kinds *known;
	uint32_t number;

	if (pool_intern(&interned->kinds, &item, &number) < 0)
		return -ENOMEM;
	known = (struct interned_kinds *)interned->kinds.items + number;
	known->has |= has;
	return 0;
}

static int note_item(struct index_interned *interned,
		     const struct index_packet *item)
{
	struct wire fields = { item->at, item->at + item->count };
	struct wire_field field;
	int err = 0;

	while (!err && wire_next(&fields, &field)) {
		struct wire entry = wire_of(&field);
		uint64_t has = 0;

		if (field.tag == TAG_INTERNED_DATA_EVENT_CATEGORIES)
			has = INTERNED_CATEGORY;
		else if (field.tag == TAG_INTERNED_DATA_SOURCE_LOCATIONS)
			has = INTERNED_LOCATION;
		while (has && !err && wire_next(&entry, &field))
			if (field.tag == TAG_EVENT_NAME_IID)
				err = note(interned, item->sequence,
					   field.value, has);
	}
	return err;
}

static int note_names(struct index_interned *interned,
		      const struct index_sequence *of)
{
	int err = 0;

	for (uint32_t i = 0; of->checkpoint_count && !err && i < of->name_count;
	     i++)
		err = note(interned, of->id, of->names[i].iid, INTERNED_NAME);
	return err;
}

int index_interned_take(struct index_interned *interned,
			const struct trace_index *index)
{
	int err = 0;

	pool_init(&interned->kinds, NULL, sizeof(struct interned_kinds),
		  sizeof(uint64_t));
	for (uint32_t i = 0; i < index->sequence_count && !err; i++)
		err = note_names(interned, &index->sequences[i]);
	for (uint32_t i = 0; i < index->packet_count && !err; i++)
		if (index->packets[i].kind == INDEX_INTERNED)
			err = note_item(interned, &index->packets[i]);
	return err;
}

void index_interned_release(struct index_interned *interned)
{
	pool_release(&interned->kinds);
}

uint32_t index_interned_has(const struct index_interned *interned,
			    uint32_t sequence, uint32_t iid)
{
	const struct interned_kinds item = { (uint64_t)sequence << 32 | iid,
					     0 };
	const struct interned_kinds *known = interned->kinds.items;
	uint32_t number;

	return pool_find(&interned->kinds, &item, &number)
		       ? (uint32_t)known[number].has
		       : 0;
}
