/* SPDX-License-Identifier: Apache-2.0
 *
 * heap - the blocks of one process: which blocks are live; and for each site,
 * what was allocated there, what is in use now, and what was in use at the
 * peak, the moment at which the process had most bytes in use. See heap.c for
 * the rules.
 *
 * A site is a stack (stacks.h) in a thread. Any thread may ask for sites; all
 * else is for one thread at a time, see process_heap.h. Pure: no I/O. Memory is
 * bounded by a budget; blocks that find no room are counted.
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
 * In a sampled heap each block stands for several blocks. Counts of objects and
 * of bytes are then in units of 2^-HEAP_FRACTION_BITS, and heap_round() makes
 * whole numbers of them. In an exact heap they are whole numbers.
 */
#define HEAP_FRACTION_BITS 16

/*
 * How much too early a clock may be, in ticks or ns: a counter is read while
 * the instructions before it are under way, so the free of a block that another
 * thread has just handed over may be stamped before its alloc (seen: 90 ticks;
 * Intel SDM vol. 2B, RDTSC).
 */
#define HEAP_SKEW 1000
/* The same where a free would be called a double free otherwise. It is larger,
 * since that must be certain. */
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

/* One of HEAP_FOLDS independent parts of the samples of a sampled heap, and two
 * estimates of the bytes in use: its own, and that of all others; see heap.c.
 */
#define HEAP_FOLDS 3

struct heap_fold {
	uint64_t now, others; /* by this fold, and by all others */
	double variance; /* of now */
	uint64_t most; /* by all others */
	uint64_t then; /* now, when others was most */
	double then_variance;
};

/* Of the whole heap. Counts are of records, unless said otherwise. */
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
	struct heap_fold fold[HEAP_FOLDS]; /* of a sampled heap */
	double variance, peak_variance; /* of totals.now, and at the peak */
	struct heap_table table;
	struct heap_totals totals;
	uint64_t epoch; /* counts peaks */
	/* Some blocks may not be known: what looks like a double free may be
	 * none. */
	bool incomplete;
	/* Its blocks are samples of those of another heap. Then epoch is that
	 * of the other heap, and is set before each call. */
	bool follows;
	/* The next block was in use at the peak of the other heap already: it
	 * is added here only after that. */
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

/* Begin an empty heap, which is ended with heap_release(). @period: the mean
 * number of bytes between two samples; 0: all blocks are known. @secret: any
 * random number, so that no program can choose its collisions. @budget must
 * outlive it. 0 or -ENOMEM. */
int heap_init(struct heap *heap, struct budget *budget, uint64_t period,
	      uint64_t secret);
void heap_release(struct heap *heap);

/* The number of the site of @stack in the thread @owner. It is valid as long as
 * the heap is. 0, if there is no room for a new one: site 0 has stack 0 and
 * owner 0. Any thread. */
uint32_t heap_site(struct heap *heap, uint32_t owner, uint32_t stack);

/* A block of @size bytes was allocated at @address (1 to HEAP_ADDRESS_MAX), at
 * @clock, by @site. */
void heap_alloc(struct heap *heap, uint64_t clock, uint64_t address,
		uint64_t size, uint32_t site);

/* What to give heap_alloc() and heap_alloc_untracked() as the size of a sampled
 * block of @size bytes. @level: the mean distance between samples was divided
 * by 2^level when it was sampled. */
uint64_t heap_sampled_size(uint64_t size, uint32_t level);

/* Mark the live block at @address, which was allocated at @clock or before:
 * when it ends, heap->ended says so. *@at_peak: it was in use at the last
 * peak. False: there is no such block. */
bool heap_mark(struct heap *heap, uint64_t clock, uint64_t address,
	       bool *at_peak);

/* As heap_alloc(), for a block whose free nobody will tell: it is not counted
 * as in use. */
void heap_alloc_untracked(struct heap *heap, uint64_t size, uint32_t site);

enum heap_free {
	HEAP_FREED,
	HEAP_LATE,
	HEAP_FOREIGN,
	HEAP_DOUBLE,
};

/* The block at @address was freed at @clock by the thread @owner. @temporary:
 * by the thread that had allocated it, and that thread had allocated nothing
 * else since. */
enum heap_free heap_free(struct heap *heap, uint64_t clock, uint64_t address,
			 uint32_t owner, bool temporary);
/* The caller knows that allocations may be missing: what heap_free() has just
 * called HEAP_DOUBLE at @address may be none. From now on the heap calls
 * nothing a double free. */
void heap_doubt(struct heap *heap, uint64_t address);
/* Whether the free at @clock that was called HEAP_DOUBLE is still held for one:
 * later records, with clocks up to @clock + HEAP_SKEW_DOUBLE, may have shown
 * that it was none. False also when the heap has forgotten that free. */
bool heap_is_double(const struct heap *heap, uint64_t clock, uint64_t address);

/* Sites have the numbers below heap_site_count(). */
uint32_t heap_site_count(struct heap *heap);
const struct heap_site *heap_get_site(const struct heap *heap, uint32_t site);
/* The same, to change it. For whoever may call heap_alloc(). */
struct heap_site *heap_site_at(struct heap *heap, uint32_t site);
/* What @site had when the process had most bytes in use. */
struct heap_values heap_at_peak(const struct heap *heap,
				const struct heap_site *site);
/* The most bytes that were in use, in whole ones: in a sampled heap right on
 * average, while totals.peak is the maximum of an estimate, which is too high.
 * *@error: one standard error, in bytes; 0 in an exact heap. */
uint64_t heap_peak_bytes(const struct heap *heap, uint64_t *error);
/* Scales @value, objects or bytes in use at the peak, so that all sites
 * together have heap_peak_bytes(). */
uint64_t heap_scale_peak(const struct heap *heap, uint64_t value);
/* @value of objects or bytes, in whole ones. */
uint64_t heap_round(const struct heap *heap, uint64_t value);
/*
 * The same for @value, one of several parts, rounded so that all parts together
 * are heap_round() of the whole. *@sum, 0 before the first part, is the sum of
 * the parts so far, to which @value is added.
 */
uint64_t heap_round_next(const struct heap *heap, uint64_t *sum,
			 uint64_t value);

#endif
