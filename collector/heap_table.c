/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_table - many small tables, chosen by the top bits of a hash, so that
 * none is ever long at growing: of ten million blocks one holds ten thousand.
 * Each is probed linearly and between half and three quarters full, as its
 * size need not be a power of two: a hash is scaled to it by a multiplication
 * (D. Lemire, "Fast random integer generation in an interval", 2019).
 *
 * Removing moves what follows up (Knuth, TAOCP vol. 3, 6.4, algorithm R): no
 * marks of the removed are left, which a program that allocates for days would
 * pile up.
 */
#include "collector/heap_table.h"

#include <stdlib.h>

#include "collector/cct.h"
#include "shared/compiler.h"

#define ROOM_MIN 4u
#define ROOM_MAX (1u << 31)

static uint64_t hash_of(const struct heap_table *table, uint64_t address)
{
	uint64_t x = (address ^ table->secret) * 0x9e3779b97f4a7c15ULL;

	x ^= x >> 32;
	return x * 0xd6e8feb86659fd93ULL;
}

static struct heap_segment *segment_of(struct heap_table *table, uint64_t hash)
{
	return &table->segment[hash >> (64 - HEAP_SEGMENT_BITS)];
}

/* Where in @segment the search for @hash starts. */
static uint32_t home_of(const struct heap_segment *segment, uint64_t hash)
{
	uint32_t part = (uint32_t)(hash << HEAP_SEGMENT_BITS >> 32);

	return (uint32_t)((uint64_t)part * segment->room >> 32);
}

static uint64_t address_of(const struct heap_block *block)
{
	return block->key & HEAP_ADDRESS_MAX;
}

static uint32_t after(const struct heap_segment *segment, uint32_t i)
{
	return i + 1 == segment->room ? 0 : i + 1;
}

/* There is room. */
static struct heap_block *put(struct heap_segment *segment, uint64_t hash,
			      const struct heap_block *block)
{
	uint32_t i = home_of(segment, hash);

	while (segment->block[i].key)
		i = after(segment, i);
	segment->block[i] = *block;
	return &segment->block[i];
}

static bool resize(struct heap_table *table, struct heap_segment *segment,
		   uint32_t room)
{
	struct heap_segment old = *segment;
	uint64_t bytes = (uint64_t)room * sizeof(*old.block);
	uint32_t i;

	if (!budget_take(table->budget, bytes))
		return false;
	segment->block = calloc(room, sizeof(*segment->block));
	if (!segment->block) {
		segment->block = old.block;
		budget_give(table->budget, bytes);
		return false;
	}
	segment->room = room;
	for (i = 0; i < old.room; i++)
		if (old.block[i].key)
			(void)put(segment,
				  hash_of(table, address_of(&old.block[i])),
				  &old.block[i]);
	budget_give(table->budget, (uint64_t)old.room * sizeof(*old.block));
	free(old.block);
	return true;
}

/* Room for one more; one place at least stays empty. */
static bool reserve(struct heap_table *table, struct heap_segment *segment)
{
	uint64_t room = segment->room;

	if (4ULL * (segment->count + 1) <= 3 * room)
		return true;
	room = room ? room + room / 2 : ROOM_MIN;
	if (room <= ROOM_MAX && resize(table, segment, (uint32_t)room))
		return true;
	return 16ULL * (segment->count + 1) <= 15ULL * segment->room;
}

void heap_table_fetch(const struct heap_table *table, uint64_t address)
{
	uint64_t hash = hash_of(table, address);
	const struct heap_segment *segment =
		&table->segment[hash >> (64 - HEAP_SEGMENT_BITS)];
	const struct heap_block *home;

	if (!segment->room)
		return;
	home = segment->block + home_of(segment, hash);
	/* A few of the next ones are probed, too: 1.5 lines on average. */
	__builtin_prefetch(home, 1);
	__builtin_prefetch(home + 3, 1);
}

struct heap_block *heap_table_find(struct heap_table *table, uint64_t address)
{
	uint64_t hash = hash_of(table, address);
	struct heap_segment *segment = segment_of(table, hash);
	uint32_t i;

	if (!segment->room)
		return NULL;
	for (i = home_of(segment, hash); segment->block[i].key;
	     i = after(segment, i))
		if (address_of(&segment->block[i]) == address)
			return &segment->block[i];
	return NULL;
}

struct heap_block *heap_table_add(struct heap_table *table, uint64_t address,
				  uint64_t size, uint64_t clock, uint32_t site)
{
	uint64_t hash = hash_of(table, address);
	struct heap_segment *segment = segment_of(table, hash);
	const struct heap_block block = {
		.key = address | size >> 32 << HEAP_ADDRESS_BITS,
		.clock = clock,
		.size_low = (uint32_t)size,
		.site = site & ((1u << 30) - 1),
	};

	if (!reserve(table, segment))
		return NULL;
	segment->count++;
	table->count++;
	return put(segment, hash, &block);
}

/* From @from onwards to @to, around the end. */
static uint32_t distance(const struct heap_segment *segment, uint32_t from,
			 uint32_t to)
{
	return to >= from ? to - from : to + segment->room - from;
}

void heap_table_remove(struct heap_table *table, struct heap_block *block)
{
	uint64_t hash = hash_of(table, address_of(block));
	struct heap_segment *segment = segment_of(table, hash);
	uint32_t gap = (uint32_t)(block - segment->block), i, home;

	for (i = after(segment, gap); segment->block[i].key;
	     i = after(segment, i)) {
		home = home_of(segment,
			       hash_of(table, address_of(&segment->block[i])));
		/* It may move if its way from home leads over the gap. */
		if (distance(segment, home, i) < distance(segment, gap, i))
			continue;
		segment->block[gap] = segment->block[i];
		gap = i;
	}
	segment->block[gap].key = 0;
	segment->count--;
	table->count--;
	/* Should there be no memory for the smaller one, this one is kept. */
	if (segment->room > 16 * ROOM_MIN &&
	    8ULL * segment->count < segment->room)
		(void)resize(table, segment, segment->room / 2);
}

uint64_t heap_table_bytes(const struct heap_table *table)
{
	uint64_t bytes = sizeof(*table);
	uint32_t i;

	for (i = 0; i < HEAP_SEGMENTS; i++)
		bytes += (uint64_t)table->segment[i].room *
			 sizeof(struct heap_block);
	return bytes;
}

void heap_table_init(struct heap_table *table, struct budget *budget,
		     uint64_t secret)
{
	*table = (struct heap_table){ .budget = budget, .secret = secret };
}

void heap_table_release(struct heap_table *table)
{
	uint32_t i;

	for (i = 0; i < HEAP_SEGMENTS; i++) {
		budget_give(table->budget, (uint64_t)table->segment[i].room *
						   sizeof(struct heap_block));
		free(table->segment[i].block);
		table->segment[i] = (struct heap_segment){ 0 };
	}
	table->count = 0;
}
