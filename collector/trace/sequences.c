/* SPDX-License-Identifier: Apache-2.0
 *
 * sequences - the sequences with open slices are in a hash table. An entry lies
 * at the place given by its id, or behind it without a free entry in between.
 */
#include "collector/trace/sequences.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "shared/compiler.h"

#define OPEN_ROOM_MIN 512u
#define WORD_BITS 64u

void sequences_release(struct sequences *sequences)
{
	free(sequences->known);
	free(sequences->open);
	*sequences = (struct sequences){ 0 };
}

static uint32_t home_entry(uint32_t id, uint32_t room)
{
	/* Recordings number sequences in turn, so the low bits of ids
	 * differ. */
	return id & (room - 1);
}

/* Returns the entry of sequence @id, or the free entry where it belongs. The
 * table must have a free entry. */
static struct open_sequence *find_entry(struct open_sequence *open,
					uint32_t room, uint32_t id)
{
	uint32_t at = home_entry(id, room);

	while (open[at].id && open[at].id != id)
		at = (at + 1) & (room - 1);
	return &open[at];
}

/* Moves the entries to a table with @room entries. Returns 0 or -ENOMEM. */
static int resize_open(struct sequences *sequences, uint32_t room)
{
	struct open_sequence *open = calloc(room, sizeof(*open));

	if (!open)
		return -ENOMEM;
	for (uint32_t i = 0; i < sequences->open_room; i++)
		if (sequences->open[i].id)
			*find_entry(open, room, sequences->open[i].id) =
				sequences->open[i];
	free(sequences->open);
	sequences->open = open;
	sequences->open_room = room;
	return 0;
}

int sequences_make_room(struct sequences *sequences, uint32_t id, uint32_t more)
{
	uint64_t entries = (uint64_t)sequences->open_count + more;
	uint64_t room = sequences->open_room;

	if (grow_array_zeroed(sequences->known, sequences->known_words,
			      (size_t)id / WORD_BITS + 1))
		return -ENOMEM;
	if (room < OPEN_ROOM_MIN)
		room = OPEN_ROOM_MIN;
	/* At most half of the entries are in use, so searches are short. A
	 * table that was once large shrinks. */
	while (room < entries * 2)
		room *= 2;
	while (room > OPEN_ROOM_MIN && room > entries * 16)
		room /= 2;
	if (room > UINT32_MAX)
		return -ENOMEM;
	return room == sequences->open_room
		       ? 0
		       : resize_open(sequences, (uint32_t)room);
}

bool sequences_know(const struct sequences *sequences, uint32_t id)
{
	uint32_t word = id / WORD_BITS;

	return word < sequences->known_words &&
	       sequences->known[word] >> id % WORD_BITS & 1;
}

/* Frees @entry, and moves later entries into the hole that it kept from their
 * places. */
static void free_entry(struct sequences *sequences, struct open_sequence *entry)
{
	uint32_t mask = sequences->open_room - 1;
	uint32_t hole = (uint32_t)(entry - sequences->open), at = hole;

	for (;;) {
		uint32_t place;

		at = (at + 1) & mask;
		if (!sequences->open[at].id)
			break;
		place = home_entry(sequences->open[at].id,
				   sequences->open_room);
		/* An entry may move unless its place lies between the hole and
		 * the entry. */
		if (((at - place) & mask) < ((at - hole) & mask))
			continue;
		sequences->open[hole] = sequences->open[at];
		hole = at;
	}
	sequences->open[hole] = (struct open_sequence){ 0 };
	sequences->open_count--;
}

uint32_t sequences_change(struct sequences *sequences, uint32_t id,
			  int32_t opened, uint64_t last_ns)
{
	struct open_sequence *entry =
		find_entry(sequences->open, sequences->open_room, id);
	uint64_t *known = &sequences->known[id / WORD_BITS];
	uint64_t bit = 1ULL << id % WORD_BITS;
	uint32_t slices;

	assert(id && (int64_t)entry->slices + opened >= 0);
	sequences->count += !(*known & bit);
	*known |= bit;
	sequences->slices += (uint64_t)(int64_t)opened;
	slices = entry->slices + (uint32_t)opened;
	if (!slices) {
		if (entry->id)
			free_entry(sequences, entry);
		return 0;
	}
	sequences->open_count += !entry->id;
	*entry = (struct open_sequence){ id, slices,
					 MAX(entry->last_ns, last_ns) };
	return slices;
}

void sequences_forget(struct sequences *sequences, uint32_t id)
{
	if (!sequences_know(sequences, id) ||
	    find_entry(sequences->open, sequences->open_room, id)->id)
		return;
	sequences->known[id / WORD_BITS] &= ~(1ULL << id % WORD_BITS);
	sequences->count--;
}

const struct open_sequence *sequences_next_open(
	const struct sequences *sequences, uint32_t *at)
{
	while (*at < sequences->open_room) {
		const struct open_sequence *entry = &sequences->open[(*at)++];

		if (entry->id)
			return entry;
	}
	return NULL;
}

size_t sequences_bytes(const struct sequences *sequences)
{
	return sequences->known_words * sizeof(*sequences->known) +
	       sequences->open_room * sizeof(*sequences->open);
}
