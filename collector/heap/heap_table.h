/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_table - the live blocks of a process, by address. A block has 24 bytes,
 * and the table takes 32 to 48 for each. Memory is bounded by a budget.
 *
 * Blocks that lie side by side in the program lie side by side here, too, so
 * that a program which allocates or frees them one after the other touches few
 * cache lines and pages of the table. See heap_table.c.
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
	uint64_t key; /* address; bits 32 to 47 of the size above it */
	uint64_t clock;
	uint32_t size_low;
	uint32_t site : 30;
	/* The heap's; not set by heap_table_add(). */
	uint32_t unsure : 1;
	uint32_t sampled : 1;
};

static inline uint64_t heap_block_size(const struct heap_block *block)
{
	return block->key >> HEAP_ADDRESS_BITS << 32 | block->size_low;
}

struct heap_table {
	struct budget *budget;
	uint64_t secret; /* so that no program can choose its collisions */
	uint64_t count;
	struct heap_segment {
		struct heap_block *block; /* key 0: empty */
		uint32_t count, room;
	} * segment;
	uint32_t segments, segment_room;
	uint32_t mask; /* 2^n - 1, of the least 2^n >= segments */
	struct heap_miss { /* where heap_table_find() found nothing last */
		uint64_t address; /* 0: that may have changed */
		struct heap_segment *segment;
		struct heap_block *place; /* for it */
	} miss;
};

/* @budget must outlive it. */
void heap_table_init(struct heap_table *table, struct budget *budget,
		     uint64_t secret);
void heap_table_release(struct heap_table *table);

/* Have the processor fetch the place of @address, which heap_table_find() will
 * read and heap_table_add() will write. May be called for several addresses
 * ahead. */
void heap_table_fetch(const struct heap_table *table, uint64_t address);
/* The block at @address (1 to HEAP_ADDRESS_MAX), or NULL. Valid until the table
 * changes. */
struct heap_block *heap_table_find(struct heap_table *table, uint64_t address);
/* Add a block of at most HEAP_SIZE_MAX bytes, which must not be there yet.
 * NULL: no room. Valid until the table changes. */
struct heap_block *heap_table_add(struct heap_table *table, uint64_t address,
				  uint64_t size, uint64_t clock, uint32_t site);
/* Remove what heap_table_find() returned. */
void heap_table_remove(struct heap_table *table, struct heap_block *block);
/* Bytes that it takes. */
uint64_t heap_table_bytes(const struct heap_table *table);

#endif
