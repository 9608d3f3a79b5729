/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_table - many small hash tables (segments). The program's memory is
 * divided into regions of 256 KiB, and a hash of the region selects the segment
 * of its blocks. An allocator returns neighbours one after the other, so
 * hundreds of events in a row use a few segments, which stay in the caches of
 * the CPU. In one large table each event would miss the caches and the TLB at a
 * random place, and evict the program's data from the last-level cache.
 *
 * The number of segments keeps their average at a thousand blocks. As the
 * blocks increase, one segment at a time is split in two, in turn (W. Litwin,
 * "Linear hashing: a new tool for file and table addressing", 1980), so no
 * growth takes long. A region has 262,144 addresses, which bounds a segment
 * that a program fills on purpose. Segments are never joined; an empty one
 * keeps some hundred bytes.
 *
 * Each segment is probed linearly and is half to three quarters full. Its size
 * need not be a power of two: a multiplication scales a hash to it (D. Lemire,
 * "Fast random integer generation in an interval", 2019).
 *
 * Removing a block moves later ones up (Knuth, TAOCP vol. 3, 6.4, algorithm R),
 * so a program that allocates for days piles up no tombstones.
 */
#include "collector/heap/heap_table.h"

#include <stdlib.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "shared/compiler.h"

#define ROOM_MIN 16u
#define ROOM_MAX (1u << 31)
#define ROOM_SMALL 64u
#define REGION_BITS 18
#define SEGMENT_BLOCKS 1024u /* average, once there are more */
#define SEGMENTS_MAX (1u << 30)

/*
 * Mixes all bits of @number into the upper and the lower half, which have
 * separate uses. The first multiplier is 2^64 divided by the golden ratio
 * (Knuth, TAOCP vol. 3, 6.4, "Fibonacci hashing"). The second was found by a
 * search of the database H2 for 64-bit mixers (its CalculateHashConstant.java)
 * and is known as degski64's.
 */
static uint64_t block_hash(const struct heap_table *table, uint64_t number)
{
	uint64_t x = (number ^ table->secret) * 0x9e3779b97f4a7c15ULL;

	x ^= x >> 32;
	return x * 0xd6e8feb86659fd93ULL;
}

static uint32_t region_hash(const struct heap_table *table, uint64_t address)
{
	return (uint32_t)(block_hash(table, address >> REGION_BITS) >> 32);
}

static struct heap_segment *segment_of(const struct heap_table *table,
				       uint64_t address)
{
	uint32_t hash = region_hash(table, address), i = hash & table->mask;

	/* not split yet */
	if (i >= table->segments)
		i = hash & table->mask >> 1;
	return &table->segment[i];
}

static struct heap_block *home_of(const struct heap_segment *segment,
				  uint64_t hash)
{
	return segment->block + ((hash >> 32) * segment->room >> 32);
}

static uint64_t block_address(const struct heap_block *block)
{
	return block->key & HEAP_ADDRESS_MAX;
}

static struct heap_block *block_after(const struct heap_segment *segment,
				      struct heap_block *block)
{
	block++;
	return likely(block < segment->block + segment->room) ? block
							      : segment->block;
}

/* Returns the first free place for @hash; the segment must have one. */
static struct heap_block *find_block_place(const struct heap_segment *segment,
					   uint64_t hash)
{
	struct heap_block *place = home_of(segment, hash);

	while (place->key)
		place = block_after(segment, place);
	return place;
}

static bool make_segment(struct heap_table *table, struct heap_segment *segment,
			 uint32_t room)
{
	uint64_t bytes = (uint64_t)room * sizeof(*segment->block);

	*segment = (struct heap_segment){ .room = room };
	if (!budget_take(table->budget, bytes))
		return false;
	segment->block = calloc(room, sizeof(*segment->block));
	if (!segment->block)
		budget_give(table->budget, bytes);
	return segment->block;
}

static void discard_segment(struct heap_table *table,
			    struct heap_segment *segment)
{
	budget_give(table->budget,
		    (uint64_t)segment->room * sizeof(*segment->block));
	free(segment->block);
	*segment = (struct heap_segment){ 0 };
}

static bool resize_segment(struct heap_table *table,
			   struct heap_segment *segment, uint32_t room)
{
	struct heap_segment old = *segment, made;

	if (!make_segment(table, &made, room))
		return false;
	made.count = old.count;
	*segment = made;
	for (uint32_t i = 0; i < old.room; i++)
		if (old.block[i].key)
			*find_block_place(
				segment,
				block_hash(table,
					   block_address(&old.block[i]))) =
				old.block[i];
	discard_segment(table, &old);
	return true;
}

/* Grows @segment; at least one place stays empty. Returns false without room
 * for one more block. */
static bool reserve_place(struct heap_table *table,
			  struct heap_segment *segment)
{
	uint64_t room = segment->room;

	if (!room)
		room = ROOM_MIN;
	else
		room += room < ROOM_SMALL ? room : room / 2;
	if (room <= ROOM_MAX && resize_segment(table, segment, (uint32_t)room))
		return true;
	return 16ULL * (segment->count + 1) <= 15ULL * segment->room;
}

/* --- the number of segments ---------------------------------------------- */

static uint32_t count_other(const struct heap_table *table,
			    const struct heap_segment *segment, uint32_t bit)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < segment->room; i++)
		if (segment->block[i].key)
			count += !!(
				region_hash(table,
					    block_address(&segment->block[i])) &
				bit);
	return count;
}

static uint32_t room_for_blocks(uint32_t count)
{
	return MAX(count + count * 2 / 3, ROOM_MIN);
}

static bool divide_segment(struct heap_table *table, struct heap_segment *old,
			   uint32_t bit, struct heap_segment *part)
{
	uint32_t other = count_other(table, old, bit);

	if (!other || other == old->count) {
		part[!!other] = *old;
		part[!other] = (struct heap_segment){ 0 };
		return true;
	}
	if (!make_segment(table, &part[0], room_for_blocks(old->count - other)))
		return false;
	if (!make_segment(table, &part[1], room_for_blocks(other))) {
		discard_segment(table, &part[0]);
		return false;
	}
	for (uint32_t i = 0; i < old->room; i++) {
		uint64_t address = block_address(&old->block[i]);
		struct heap_segment *to;

		if (!old->block[i].key)
			continue;
		to = &part[!!(region_hash(table, address) & bit)];
		*find_block_place(to, block_hash(table, address)) =
			old->block[i];
		to->count++;
	}
	discard_segment(table, old);
	return true;
}

static void split_segment(struct heap_table *table)
{
	uint32_t number = table->segments, bit;
	struct heap_segment part[2];

	if (table->segments >= SEGMENTS_MAX ||
	    grow_array_from(table->budget, table->segment, table->segment_room,
			    table->segments + 1))
		return;
	if (number == 0) {
		table->segment[table->segments++] = (struct heap_segment){ 0 };
		return;
	}
	bit = 1u << (31 - __builtin_clz(number));
	if (!divide_segment(table, &table->segment[number - bit], bit, part))
		return;
	table->segment[number - bit] = part[0];
	table->segment[number] = part[1];
	table->segments++;
	table->mask = 2 * bit - 1;
}

/* --- blocks -------------------------------------------------------------- */

void heap_table_fetch(const struct heap_table *table, uint64_t address)
{
	const struct heap_block *home;

	if (!table->count)
		return;
	home = home_of(segment_of(table, address), block_hash(table, address));
	/* A search probes some of the next entries: 1.5 cache lines on
	 * average. */
	__builtin_prefetch(home, 1);
	__builtin_prefetch(home + 3, 1);
}

struct heap_block *heap_table_find(struct heap_table *table, uint64_t address)
{
	struct heap_segment *segment;
	struct heap_block *block;

	if (!table->count)
		return NULL;
	segment = segment_of(table, address);
	if (!segment->room)
		return NULL;
	for (block = home_of(segment, block_hash(table, address)); block->key;
	     block = block_after(segment, block))
		if (block_address(block) == address)
			return block;
	table->miss = (struct heap_miss){ address, segment, block };
	return NULL;
}

/* Returns a place for a new block at @address and counts it, or NULL without
 * room. */
static struct heap_block *new_place(struct heap_table *table, uint64_t address)
{
	struct heap_miss miss = table->miss;

	table->miss.address = 0;
	if (table->count >= (uint64_t)SEGMENT_BLOCKS * table->segments) {
		split_segment(table);
		miss.address = 0;
	}
	if (!table->segments)
		return NULL;
	if (miss.address != address)
		miss = (struct heap_miss){ .segment =
						   segment_of(table, address) };
	if (4ULL * (miss.segment->count + 1) > 3ULL * miss.segment->room) {
		if (!reserve_place(table, miss.segment))
			return NULL;
		miss.address = 0;
	}
	miss.segment->count++;
	table->count++;
	return miss.address ? miss.place
			    : find_block_place(miss.segment,
					       block_hash(table, address));
}

struct heap_block *heap_table_add(struct heap_table *table, uint64_t address,
				  uint64_t size, uint64_t clock, uint32_t site)
{
	struct heap_block *block = new_place(table, address);

	if (block)
		*block = (struct heap_block){
			.key = address | size >> 32 << HEAP_ADDRESS_BITS,
			.clock = clock,
			.size_low = (uint32_t)size,
			.site = site & ((1u << 30) - 1),
		};
	return block;
}

/* Returns true if @home lies behind @gap and not behind @block, counted around
 * the end of the segment. Then @block must not move to @gap, where a search
 * from @home would miss it. */
static bool is_between_places(const struct heap_block *gap,
			      const struct heap_block *home,
			      const struct heap_block *block)
{
	if (gap <= block)
		return gap < home && home <= block;
	return gap < home || home <= block;
}

void heap_table_remove(struct heap_table *table, struct heap_block *block)
{
	struct heap_segment *segment = segment_of(table, block_address(block));
	struct heap_block *gap = block;

	table->miss.address = 0;
	for (block = block_after(segment, gap); block->key;
	     block = block_after(segment, block)) {
		uint64_t hash = block_hash(table, block_address(block));

		if (is_between_places(gap, home_of(segment, hash), block))
			continue;
		*gap = *block;
		gap = block;
	}
	gap->key = 0;
	segment->count--;
	table->count--;
	/* Without memory for a smaller segment this one stays. */
	if (segment->room > 2 * ROOM_MIN &&
	    8ULL * segment->count < segment->room)
		(void)resize_segment(table, segment, segment->room / 2);
}

uint64_t heap_table_bytes(const struct heap_table *table)
{
	uint64_t bytes = sizeof(*table) + (uint64_t)table->segment_room *
						  sizeof(*table->segment);

	for (uint32_t i = 0; i < table->segments; i++)
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
	for (uint32_t i = 0; i < table->segments; i++)
		discard_segment(table, &table->segment[i]);
	budget_give(table->budget,
		    (uint64_t)table->segment_room * sizeof(*table->segment));
	free(table->segment);
	heap_table_init(table, table->budget, table->secret);
}
