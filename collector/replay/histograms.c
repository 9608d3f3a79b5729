/* SPDX-License-Identifier: Apache-2.0
 *
 * histograms - the trees of all threads look up their shared histograms here.
 *
 * A function is an address for a stretch of generations (cct.h). A tree knows
 * the generation of its thread's first call, and that differs between threads.
 * So an entry is for a range of generations: from the generation of its making
 * until the address is unloaded. When a caller asks for a new generation, the
 * map log reports the modules unloaded meanwhile, and their entries are closed.
 * A late thread may call a function in a generation before the entry of the
 * other threads. It gets an entry of its own. That costs only memory: at the
 * end all entries with one name are added up.
 *
 * Addresses and generations are the program's word, so a search visits at most
 * LOOK_MAX entries. If that is not enough, it makes another entry.
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
#define SLOTS_MIN 16u
#define SLOTS_MAX (1u << 24)
#define LOOK_MAX 64
#define UNLOADED_ROOM 64
#define OPEN UINT32_MAX

struct entry {
	struct histogram histogram; /* first: callers know it by this */
	uint64_t address;
	uint32_t first, last; /* generations of this function */
	struct entry *next;
	const char *name, *module;
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
	uint32_t generation;
	struct chunk *chunks; /* the first has room */
	struct entry **slot;
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

/* --- entries ------------------------------------------------------------- */

static uint32_t histogram_slot(const struct histograms *histograms,
			       uint64_t address)
{
	return (uint32_t)(address * 0x9e3779b97f4a7c15ULL >> 32) &
	       (histograms->slots - 1);
}

/* Moves the entries of one slot of a smaller table; @entry is the first. */
static void move_slot(struct histograms *histograms, struct entry *entry)
{
	struct entry *list = NULL, *next, **to;

	/* Reverses the list first, so that the order stays. */
	for (; entry; entry = next) {
		next = entry->next;
		entry->next = list;
		list = entry;
	}
	for (entry = list; entry; entry = next) {
		to = &histograms->slot[histogram_slot(histograms,
						      entry->address)];
		next = entry->next;
		entry->next = *to;
		*to = entry;
	}
}

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

/* There is at most one entry for each slot on average, unless there is no
 * memory for more slots. */
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

/* --- generations --------------------------------------------------------- */

static bool is_in_ranges(uint64_t address, const struct address_range *range,
			 size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (address >= range[i].start && address < range[i].end)
			return true;
	return false;
}

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
	struct entry **slot;

	if (generation > histograms->generation)
		go_on_to(histograms, generation);
	if (histograms->slots)
		entry = histograms->slot[histogram_slot(histograms, address)];
	for (; entry && look--; entry = entry->next)
		if (entry->address == address && generation >= entry->first &&
		    generation <= entry->last)
			return &entry->histogram;
	if (!reserve_slot(histograms) || !reserve_chunk(histograms))
		return NULL;
	entry = &histograms->chunks->entry[histograms->chunks->count++];
	slot = &histograms->slot[histogram_slot(histograms, address)];
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
	return &entry->histogram;
}

/* --- names --------------------------------------------------------------- */

void histograms_set_name(struct histogram *histogram, const char *name,
			 const char *module)
{
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
