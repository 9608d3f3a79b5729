/* SPDX-License-Identifier: Apache-2.0
 *
 * histograms - every thread has a tree, with the functions that it called; they
 * look here for the histogram that they share.
 *
 * A function is an address for a stretch of generations (cct.h). Trees know in
 * which generation a thread called it first, and that is another one for each
 * thread. So an entry is for a range of generations: from the one in which it
 * was made on, until the address is unloaded. When a later generation than any
 * before is asked for, the map log says what was unloaded meanwhile, and the
 * entries that lie there are closed. A thread that is behind, and calls a
 * function for the first time that others know from a later generation only,
 * gets an entry of its own. That costs memory, and no more: at the end all
 * entries with one name are added up.
 *
 * Addresses and generations are the program's word: a search looks at LOOK_MAX
 * entries at most. One that is not found is made once more.
 */
#include "collector/replay/histograms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector/base/budget.h"
#include "shared/compiler.h"

#define CHUNK_BYTES_MIN 2048u
#define CHUNK_BYTES_MAX (1u << 16)
#define LINE_BYTES 64u
#define SLOTS_MIN 16u /* a power of two */
#define SLOTS_MAX (1u << 24)
#define LOOK_MAX 64
#define UNLOADED_ROOM 64
#define OPEN UINT32_MAX /* its address has not been unloaded */

struct entry {
	struct histogram histogram; /* first: it is what others know */
	uint64_t address;
	uint32_t first, last; /* generations in which it is this function */
	struct entry *next; /* in its slot; the youngest comes first */
	const char *name, *module; /* NULL: not said yet */
} __attribute__((aligned(LINE_BYTES)));

struct chunk {
	struct chunk *next;
	uint32_t count, room;
	struct entry entry[] __attribute__((aligned(LINE_BYTES)));
};

struct histograms {
	histograms_unloaded *unloaded;
	void *context;
	struct budget *budget;
	uint32_t generation; /* the latest that was asked for */
	struct chunk *chunks; /* the first has room */
	struct entry **slot; /* hash table */
	uint32_t slots, count;
};

int histograms_new(histograms_unloaded *unloaded, void *context,
		   struct budget *budget, struct histograms **out)
{
	struct histograms *histograms;

	if (!budget_take(budget, sizeof(*histograms)))
		return -ENOMEM;
	histograms = malloc(sizeof(*histograms));
	if (!histograms) {
		budget_give(budget, sizeof(*histograms));
		return -ENOMEM;
	}
	*histograms = (struct histograms){
		.unloaded = unloaded,
		.context = context,
		.budget = budget,
	};
	*out = histograms;
	return 0;
}

static size_t chunk_bytes(const struct chunk *chunk)
{
	return sizeof(*chunk) + chunk->room * sizeof(chunk->entry[0]);
}

void histograms_free(struct histograms **histograms)
{
	struct histograms *old = *histograms;
	struct chunk *next;

	*histograms = NULL;
	if (!old)
		return;
	for (struct chunk *chunk = old->chunks; chunk; chunk = next) {
		next = chunk->next;
		for (uint32_t i = 0; i < chunk->count; i++)
			histogram_release(&chunk->entry[i].histogram);
		budget_give(old->budget, chunk_bytes(chunk));
		free(chunk);
	}
	budget_give(old->budget, old->slots * sizeof(struct entry *));
	free(old->slot);
	budget_give(old->budget, sizeof(*old));
	free(old);
}

/* --- entries ---------------------------------------------------------------
 */

static uint32_t slot_of(const struct histograms *histograms, uint64_t address)
{
	return (uint32_t)(address * 0x9e3779b97f4a7c15ULL >> 32) &
	       (histograms->slots - 1);
}

/* Moves the entries of one slot of a smaller table, whose first is @entry. */
static void move_slot(struct histograms *histograms, struct entry *entry)
{
	struct entry *list = NULL, *next, **to;

	/* Turned round first, so that their order stays. */
	for (; entry; entry = next) {
		next = entry->next;
		entry->next = list;
		list = entry;
	}
	for (entry = list; entry; entry = next) {
		to = &histograms->slot[slot_of(histograms, entry->address)];
		next = entry->next;
		entry->next = *to;
		*to = entry;
	}
}

/* Twice as many slots. False: there is no room for them. */
static bool grow_slots(struct histograms *histograms)
{
	struct entry **old = histograms->slot;
	uint32_t before = histograms->slots;
	uint32_t slots = MAX(2 * before, SLOTS_MIN);

	if (!budget_take(histograms->budget, slots * sizeof(*old)))
		return false;
	histograms->slot = calloc(slots, sizeof(*old));
	if (!histograms->slot) {
		histograms->slot = old;
		budget_give(histograms->budget, slots * sizeof(*old));
		return false;
	}
	histograms->slots = slots;
	for (uint32_t i = 0; i < before; i++)
		move_slot(histograms, old[i]);
	budget_give(histograms->budget, before * sizeof(*old));
	free(old);
	return true;
}

/* Room for one more in the table: at most one for each slot, on average, unless
 * there is no room for more slots. */
static bool reserve_slot(struct histograms *histograms)
{
	if (histograms->count < histograms->slots ||
	    histograms->slots == SLOTS_MAX)
		return true;
	return grow_slots(histograms) || histograms->slots;
}

static bool reserve_chunk(struct histograms *histograms)
{
	struct chunk *last = histograms->chunks, *chunk;
	size_t bytes = last ? MIN(2 * chunk_bytes(last), CHUNK_BYTES_MAX)
			    : CHUNK_BYTES_MIN;
	uint32_t room =
		(uint32_t)((bytes - sizeof(*chunk)) / sizeof(chunk->entry[0]));

	if (last && last->count < last->room)
		return true;
	bytes = sizeof(*chunk) + room * sizeof(chunk->entry[0]);
	if (!budget_take(histograms->budget, bytes))
		return false;
	chunk = aligned_alloc(LINE_BYTES, bytes);
	if (!chunk) {
		budget_give(histograms->budget, bytes);
		return false;
	}
	chunk->next = last;
	chunk->count = 0;
	chunk->room = room;
	histograms->chunks = chunk;
	return true;
}

/* NULL: there is no room. */
static struct entry *add_entry(struct histograms *histograms, uint64_t address,
			       uint32_t generation)
{
	struct entry *entry, **slot;

	if (!reserve_slot(histograms) || !reserve_chunk(histograms))
		return NULL;
	entry = &histograms->chunks->entry[histograms->chunks->count++];
	slot = &histograms->slot[slot_of(histograms, address)];
	*entry = (struct entry){
		.histogram = { .budget = histograms->budget },
		.address = address,
		.first = generation,
		.last = generation == histograms->generation ? OPEN
							     : generation,
		.next = *slot,
	};
	*slot = entry;
	histograms->count++;
	return entry;
}

/* --- generations -----------------------------------------------------------
 */

static bool is_in_ranges(uint64_t address, const struct address_range *range,
			 size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (address >= range[i].start && address < range[i].end)
			return true;
	return false;
}

/* Closes the entries that were unloaded up to @generation. */
static void go_on_to(struct histograms *histograms, uint32_t generation)
{
	struct address_range range[UNLOADED_ROOM];
	uint32_t before = histograms->generation;
	size_t count;

	histograms->generation = generation;
	if (!histograms->count)
		return;
	count = histograms->unloaded(histograms->context, before, generation,
				     range, UNLOADED_ROOM);
	if (count > UNLOADED_ROOM) {
		range[0] = (struct address_range){ 0, UINT64_MAX };
		count = 1;
	}
	for (struct chunk *chunk = histograms->chunks; chunk && count;
	     chunk = chunk->next)
		for (uint32_t i = 0; i < chunk->count; i++) {
			struct entry *entry = &chunk->entry[i];

			if (entry->last == OPEN &&
			    is_in_ranges(entry->address, range, count))
				entry->last = before;
		}
}

struct histogram *histograms_find(struct histograms *histograms,
				  uint64_t address, uint32_t generation)
{
	struct entry *entry = NULL;
	int look = LOOK_MAX;

	if (generation > histograms->generation)
		go_on_to(histograms, generation);
	if (histograms->slots)
		entry = histograms->slot[slot_of(histograms, address)];
	for (; entry && look--; entry = entry->next)
		if (entry->address == address && generation >= entry->first &&
		    generation <= entry->last)
			return &entry->histogram;
	entry = add_entry(histograms, address, generation);
	return entry ? &entry->histogram : NULL;
}

/* --- names -----------------------------------------------------------------
 */

void histograms_set_name(struct histogram *histogram, const char *name,
			 const char *module)
{
	/* The histogram is the first member. */
	struct entry *entry = (struct entry *)histogram;

	if (entry->name)
		return;
	entry->name = name;
	entry->module = module;
}

void histograms_each(struct histograms *histograms, histograms_visit *visit,
		     void *context)
{
	for (struct chunk *chunk = histograms->chunks; chunk;
	     chunk = chunk->next)
		for (uint32_t i = 0; i < chunk->count; i++) {
			struct entry *entry = &chunk->entry[i];

			if (entry->name)
				visit(context, entry->name, entry->module,
				      &entry->histogram);
		}
}
