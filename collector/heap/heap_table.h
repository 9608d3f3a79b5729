/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_table - the live blocks of a process by address. A block has 24 bytes;
 * the table takes 32 to 48 for each. A budget bounds the memory.
 *
 * Neighbours in the program are neighbours in the table. So a program that
 * allocates or frees neighbours in a row touches few cache lines and pages of
 * the table. See heap_table.c.
 *
 * Addresses come from the traced program. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_TABLE_H
#define PERFREC_COLLECTOR_HEAP_HEAP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct budget;

#define HEAP_ADDRESS_BITS 48
#define HEAP_ADDRESS_MAX ((1ULL << HEAP_ADDRESS_BITS) - 1)
#define HEAP_SIZE_MAX ((1ULL << 48) - 1)

struct heap_block {
	uint64_t key; /* address; above it bits 32 to 47 of the size */
	uint64_t clock;
	uint32_t size_low;
	uint32_t site : 30;
	/* Set by heap.c, not by heap_table_add(). */
	uint32_t unsure : 1;
	uint32_t sampled : 1;
};

static inline uint64_t heap_block_size(const struct heap_block *block)
{
	return block->key >> HEAP_ADDRESS_BITS << 32 | block->size_low;
}

struct heap_table {
	struct budget *budget;
	uint64_t secret; /* against collisions on purpose */
	uint64_t count;
	struct heap_segment {
		struct heap_block *block; /* key 0: empty */
		uint32_t count, room;
	} * segment;
	uint32_t segments, segment_room;
	uint32_t mask; /* 2^n - 1 for the least 2^n >= segments */
	struct heap_miss { /* the last unsuccessful heap_table_find() */
		uint64_t address; /* 0: invalid */
		struct heap_segment *segment;
		struct heap_block *place; /* the empty place for the address */
	} miss;
};

/* @budget must outlive it. */
void heap_table_init(struct heap_table *table, struct budget *budget,
		     uint64_t secret);
void heap_table_release(struct heap_table *table);

/* Prefetches the entry of @address for heap_table_find() and heap_table_add().
 * May be called for several addresses ahead. */
void heap_table_fetch(const struct heap_table *table, uint64_t address);
/* Returns the block at @address (1 to HEAP_ADDRESS_MAX), or NULL. Valid until
 * the table changes. */
struct heap_block *heap_table_find(struct heap_table *table, uint64_t address);
/* Adds a block of at most HEAP_SIZE_MAX bytes, which must not be in the table.
 * Returns NULL without room. Valid until the table changes. */
struct heap_block *heap_table_add(struct heap_table *table, uint64_t address,
				  uint64_t size, uint64_t clock, uint32_t site);
/* Removes @block, returned by heap_table_find(). */
void heap_table_remove(struct heap_table *table, struct heap_block *block);
uint64_t heap_table_bytes(const struct heap_table *table);

#endif
