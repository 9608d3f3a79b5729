/* SPDX-License-Identifier: Apache-2.0
 *
 * heap - the blocks of one process: the live blocks, and for each site its
 * allocations, its bytes in use, and its bytes in use at the peak, the moment
 * with most bytes in use. heap.c has the rules.
 *
 * A site is a stack (stacks.h) in a thread. Any thread may ask for sites; all
 * other functions are for one thread at a time, see process_heap.h. Pure: no
 * I/O. A budget bounds the memory; blocks without room are counted.
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
 * In a sampled heap each block stands for several blocks. Objects and bytes are
 * then in units of 2^-HEAP_FRACTION_BITS, and heap_round() converts them to
 * whole numbers. In an exact heap they are whole numbers.
 */
#define HEAP_FRACTION_BITS 16

/*
 * How much too early a clock may read, in ticks or ns. A counter is read while
 * earlier instructions are still in flight, so the free of a block that another
 * thread has just passed on may have an earlier time than its alloc (seen: 90
 * ticks; Intel SDM vol. 2B, RDTSC).
 */
#define HEAP_SKEW 1000
/* As HEAP_SKEW, for double frees, which must be certain. */
#define HEAP_SKEW_DOUBLE 20000

struct heap_values {
	uint64_t alloc_objects, alloc_bytes;
	uint64_t inuse_objects, inuse_bytes;
};

struct heap_site {
	uint32_t stack, owner;
	struct heap_values now;
	uint64_t temporary; /* objects: see heap_free() */
	uint64_t peak_bytes;
	uint64_t epoch; /* number of the process' last peak at the last
			 * change */
	struct heap_values
		then; /* values at that peak, if it is still the last one */
};

/* One of HEAP_FOLDS independent parts of the samples of a sampled heap, and two
 * estimates of the bytes in use, by this fold and by all others; see heap.c. */
#define HEAP_FOLDS 3

struct heap_fold {
	uint64_t now, others; /* by this fold; by all others */
	double variance; /* of now */
	uint64_t most; /* maximum of others */
	uint64_t then; /* now at that maximum */
	double then_variance;
};

/* The whole heap. Members count records, unless a comment says otherwise. */
struct heap_totals {
	struct heap_values now, peak; /* peak: when most bytes were in use */
	uint64_t peak_clock;
	uint64_t temporary;
	uint64_t allocs;
	uint64_t matched_frees;
	uint64_t implied_frees; /* the address was allocated again without a
				 * known free */
	uint64_t late_frees; /* the block was already counted as freed */
	uint64_t foreign_frees; /* the block is unknown */
	uint64_t double_frees;
	uint64_t untracked; /* allocated but not followed, for lack of memory;
			     * not in use */
	uint64_t lost_sites; /* sites without room */
};

/* Chunk n holds HEAP_SITES_FIRST << n sites. */
#define HEAP_SITES_FIRST 64u
#define HEAP_SITE_CHUNKS 16u

struct heap {
	struct budget *budget;
	uint64_t period; /* 0: exact heap */
	struct heap_fold fold[HEAP_FOLDS];
	double variance, peak_variance; /* of totals.now, and at the peak */
	struct heap_table table;
	struct heap_totals totals;
	uint64_t epoch;
	/* Some blocks may be unknown, so no free is reported as double. */
	bool incomplete;
	/* The blocks are a sample of another heap's blocks. epoch is then the
	 * other heap's, set before each call. */
	bool follows;
	/* The next block was already in use at the other heap's peak, although
	 * it is added here only after the peak. */
	bool at_peak;
	/* Address of the marked block (heap_mark()) that the last call ended,
	 * or 0. The reader resets it. */
	uint64_t ended;
	bool ended_temporary;
	struct freed *freed; /* table of sets; see heap.c */
	struct heap_site *chunk[HEAP_SITE_CHUNKS];

	struct lock lock; /* protects the fields below and new chunks */
	uint32_t site_count;
	uint32_t *index; /* hash table of sites; 0: empty, else number + 1 */
	uint32_t index_mask;
};

/* Makes an empty heap; the caller frees it with heap_release(). @period: mean
 * number of bytes between samples; 0: all blocks are known. @secret: a random
 * number against collisions on purpose. @budget must outlive the heap. Returns
 * 0 or -ENOMEM. */
int heap_init(struct heap *heap, struct budget *budget, uint64_t period,
	      uint64_t secret);
void heap_release(struct heap *heap);

/* Returns the number of the site of @stack in thread @owner, valid until
 * heap_release(). Without room it returns 0, the site with stack 0 and owner 0.
 * Any thread. */
uint32_t heap_site(struct heap *heap, uint32_t owner, uint32_t stack);

/* Adds a block of @size bytes at @address (1 to HEAP_ADDRESS_MAX), allocated at
 * @clock by @site. */
void heap_alloc(struct heap *heap, uint64_t clock, uint64_t address,
		uint64_t size, uint32_t site);

/* Returns the size to pass to heap_alloc() and heap_alloc_untracked() for a
 * sampled block of @size bytes. @level: the mean distance between samples was
 * divided by 2^level. */
uint64_t heap_sampled_size(uint64_t size, uint32_t level);

/* Marks the live block at @address that was allocated at @clock or before; its
 * end will set heap->ended. Sets *@at_peak to true if it was in use at the last
 * peak. Returns false without such a block. */
bool heap_mark(struct heap *heap, uint64_t clock, uint64_t address,
	       bool *at_peak);

/* As heap_alloc(), for a block whose free will not be reported; it does not
 * count as in use. */
void heap_alloc_untracked(struct heap *heap, uint64_t size, uint32_t site);

enum heap_free {
	HEAP_FREED,
	HEAP_LATE,
	HEAP_FOREIGN,
	HEAP_DOUBLE,
};

/* Frees the block at @address at @clock by thread @owner. @temporary: the same
 * thread allocated the block, and nothing else since. */
enum heap_free heap_free(struct heap *heap, uint64_t clock, uint64_t address,
			 uint32_t owner, bool temporary);
/* Withdraws the HEAP_DOUBLE that heap_free() has just returned for @address,
 * because allocations may be missing. From now on the heap reports no double
 * free. */
void heap_doubt(struct heap *heap, uint64_t address);
/* Returns true if the free at @clock still counts as HEAP_DOUBLE. Records up to
 * @clock + HEAP_SKEW_DOUBLE may refute it. Also false once the heap has dropped
 * that free. */
bool heap_is_double(const struct heap *heap, uint64_t clock, uint64_t address);

/* Sites are numbered below heap_site_count(). */
uint32_t heap_site_count(struct heap *heap);
const struct heap_site *heap_get_site(const struct heap *heap, uint32_t site);
/* As heap_get_site(), for changes. Only for callers of heap_alloc(). */
struct heap_site *heap_site_at(struct heap *heap, uint32_t site);
/* Returns the values of @site at the process' peak. */
struct heap_values heap_at_peak(const struct heap *heap,
				const struct heap_site *site);
/* Returns the most bytes in use as a whole number, not below those in use now. In
 * a sampled heap it is unbiased if far fewer are in use now, while totals.peak is
 * the maximum of an estimate and too high. Sets *@error to one standard error in
 * bytes; 0 in an exact heap. */
uint64_t heap_peak_bytes(const struct heap *heap, uint64_t *error);
/* Scales @value, objects or bytes in use at the peak, so that the sum over all
 * sites is heap_peak_bytes(). */
uint64_t heap_scale_peak(const struct heap *heap, uint64_t value);
/* Returns @value, objects or bytes, as a whole number. */
uint64_t heap_round(const struct heap *heap, uint64_t value);
/*
 * As heap_round() for one of several parts, so that the rounded parts add up to
 * heap_round() of the whole. *@sum, 0 before the first part, is the sum of the
 * parts so far; the function adds @value.
 */
uint64_t heap_round_next(const struct heap *heap, uint64_t *sum,
			 uint64_t value);

#endif
