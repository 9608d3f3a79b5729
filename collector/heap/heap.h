/* SPDX-License-Identifier: Apache-2.0
 *
 * heap - the blocks of one process: which are live, and for each site what was
 * allocated there, what is in use, and what was when most was. See heap.c for
 * the rules.
 *
 * A site is a stack (stacks.h) in a thread. Sites may be asked for by any
 * thread; all else is for one thread at a time, see process_heap.h. Pure: no
 * I/O. Memory is bounded by a budget; what finds no room is counted.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_H
#define PERFREC_COLLECTOR_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/lock.h"
#include "collector/heap/heap_table.h"

struct budget;

/*
 * In a sampled heap each block stands for several. Numbers of objects and of
 * bytes are then multiples of 2^-HEAP_FRACTION_BITS; heap_round() makes whole
 * ones of them. In an exact heap they are whole.
 */
#define HEAP_FRACTION_BITS 16

/*
 * How much too early a clock may be, in ticks or ns: a counter is read while
 * the instructions before it are under way, so the free of a block that another
 * thread has just handed over may be stamped before its alloc (seen: 90 ticks;
 * Intel SDM vol. 2B, RDTSC).
 */
#define HEAP_SKEW 1000
/* The same for one that would be a double free otherwise: it should be sure. */
#define HEAP_SKEW_DOUBLE 20000

struct heap_values {
	uint64_t alloc_objects, alloc_bytes; /* ever */
	uint64_t inuse_objects, inuse_bytes;
};

struct heap_site {
	uint32_t stack, owner;
	struct heap_values now;
	uint64_t temporary; /* objects: see HEAP_FREE_TEMPORARY */
	uint64_t peak_bytes; /* the most that were in use */
	uint64_t epoch; /* of the process' peak, at the last change */
	struct heap_values
		then; /* at that peak, if epoch is still that of it */
};

/* Whole objects of the table unless it says otherwise. */
struct heap_totals {
	struct heap_values now, peak; /* of all sites; peak: most bytes */
	uint64_t peak_clock;
	uint64_t temporary;
	uint64_t allocs; /* records taken in */
	uint64_t matched_frees; /* of a live block */
	uint64_t implied_frees; /* the address was allocated again, and no free
				 * of it was known */
	uint64_t late_frees; /* of a block that had been taken for freed */
	uint64_t foreign_frees; /* of blocks that nobody knew */
	uint64_t double_frees;
	uint64_t untracked; /* allocated, but no room to follow them: not in
			     * use for us */
	uint64_t lost_sites; /* sites that found no room */
};

/* Chunk n holds HEAP_SITES_FIRST << n sites. */
#define HEAP_SITES_FIRST 64u
#define HEAP_SITE_CHUNKS 16u

struct heap {
	struct budget *budget;
	uint64_t period; /* of a sampled heap; 0: exact */
	struct heap_table table;
	struct heap_totals totals;
	uint64_t epoch; /* counts peaks */
	/* Something is not known of each block: what looks like a double free
	 * may be none. */
	bool incomplete;
	/* What it keeps are samples of another heap: epoch is that one's, and
	 * set before each call. */
	bool follows;
	/* The block that comes next was in use at the other one's peak: it is
	 * told after that. */
	bool at_peak;
	/* The marked block (heap_mark()) that the last call has ended, or 0;
	 * reset by whoever has seen it. */
	uint64_t ended;
	bool ended_temporary;
	struct freed *freed; /* hash table without chains; see heap.c */
	struct heap_site *chunk[HEAP_SITE_CHUNKS];

	struct lock lock; /* of what follows, and new chunks */
	uint32_t site_count;
	uint32_t *index; /* hash table of sites; 0: empty, else number + 1 */
	uint32_t index_mask;
};

/* @period: mean bytes between samples, 0 if all blocks are known. @secret: any
 * random number. 0 or -ENOMEM. @budget must outlive it. */
int heap_init(struct heap *heap, struct budget *budget, uint64_t period,
	      uint64_t secret);
void heap_release(struct heap *heap);

/* The number of the site of @stack in the thread @owner, from 0 up. When there
 * is no room, that of site 0, which has stack 0 and owner 0. Any thread; good
 * for as long as the heap is. */
uint32_t heap_site(struct heap *heap, uint32_t owner, uint32_t stack);

/* A block at @address (any number up to HEAP_ADDRESS_MAX but 0), allocated at
 * @clock. */
void heap_alloc(struct heap *heap, uint64_t clock, uint64_t address,
		uint64_t size, uint32_t site);

/* The size of a block that was sampled, with the mean distance between samples
 * divided by 2^level: what heap_alloc() and heap_alloc_untracked() take for
 * it. */
uint64_t heap_sampled_size(uint64_t size, uint32_t level);

/* Mark the live block at @address, which came at @clock at the latest. False:
 * there is none. *@at_peak: it was in use at the last peak, too. */
bool heap_mark(struct heap *heap, uint64_t clock, uint64_t address,
	       bool *at_peak);

/* The same for one whose free nobody will tell: it is not counted as in use. */
void heap_alloc_untracked(struct heap *heap, uint64_t size, uint32_t site);

enum heap_free {
	HEAP_FREED,
	HEAP_LATE,
	HEAP_FOREIGN,
	HEAP_DOUBLE,
};

/* It was freed by the thread @owner; @temporary: nothing else was allocated by
 * its thread since, and that thread has freed it. */
enum heap_free heap_free(struct heap *heap, uint64_t clock, uint64_t address,
			 uint32_t owner, bool temporary);
/* What heap_free() has just called HEAP_DOUBLE at @address may be none, as
 * allocations may have gone unrecorded; from now on none is claimed. */
void heap_doubt(struct heap *heap, uint64_t address);
/* Whether what was called HEAP_DOUBLE at @clock still is: records with clocks
 * up to HEAP_SKEW_DOUBLE later may show that it was not. False, too, when that
 * is forgotten. */
bool heap_is_double(const struct heap *heap, uint64_t clock, uint64_t address);

/* All sites, by number, below heap_site_count(). */
uint32_t heap_site_count(struct heap *heap);
const struct heap_site *heap_get_site(const struct heap *heap, uint32_t site);
/* To change what it says. Whoever consumes. */
struct heap_site *heap_site_at(struct heap *heap, uint32_t site);
/* What @site had when the process had most bytes in use. */
struct heap_values heap_at_peak(const struct heap *heap,
				const struct heap_site *site);
/* @value of objects or bytes, in whole ones. */
uint64_t heap_round(const struct heap *heap, uint64_t value);
/*
 * The same for one of several parts, of which those before make *@sum, so that
 * the parts together are heap_round() of the whole; adds it to *@sum.
 */
uint64_t heap_round_next(const struct heap *heap, uint64_t *sum,
			 uint64_t value);

#endif
