/* SPDX-License-Identifier: Apache-2.0
 *
 * heap - events may arrive in any order. The latest event by clock at an
 * address decides whether a block is live there:
 *
 *   alloc, the address is live     the older of the two blocks was freed: an
 *     implied free. Its own free was lost, or comes late
 *   alloc, older than the latest   the block of that free, if the free had
 *     free of the address          found none; else an implied free ended it
 *   free, older than the live      late: the block was already counted as
 *     block                        freed
 *   free, older than the latest    late
 *     free of the address
 *   free, nothing is live there,   foreign: allocated before recording started,
 *     no earlier event is known    before a fork, or by an unseen function
 *   alloc, at most HEAP_SKEW       the block of that free
 *     younger than a free of
 *     another thread that had
 *     found no block
 *   free, nothing is live there    double. Foreign if the earlier free was
 *     since an earlier free        foreign: the unseen function may have
 *                                  allocated the address again
 *
 * A double free accuses the program of a bug. So heap_free() reports it only if
 * the previous block had a plain alloc and a plain free. After an implied free,
 * or an alloc that arrived after its own free, the next free without a block is
 * foreign (FREED_UNSURE). The report is withdrawn if a later alloc explains the
 * free. It is also withdrawn if the table of frees needs its entry while such
 * an alloc may still arrive. The caller must report missing allocations:
 * heap_doubt().
 *
 * Most events arrive in the order of their clocks (order.h). Then only plain
 * cases and real bugs of the program remain. In every order of arrival, allocs
 * = live + matched + implied holds, and the final set of live blocks is the one
 * by clocks. The latest free of an address stays known until four younger frees
 * of the same set need its entry.
 *
 * The peak has the values of each site when the most bytes were in use. Every
 * event may be a new peak, so an event changes only its own site. A site stores
 * the number (epoch) of the last peak at its last change. If there was a newer
 * peak since, the current values of the site were also its values at that peak,
 * and change_site() copies them to "then" before the next change.
 *
 * Sampled blocks. Each allocated byte is picked with probability 1/T (a Poisson
 * process of mean T bytes), so a block of s bytes is sampled with p = 1 -
 * exp(-s / T). A sampled block stands for 1/p blocks of its size, which makes
 * the expected sums exact (Horvitz and Thompson, 1952). Go's runtime/pprof,
 * scaleHeapSample(), and heapprofd scale by the same factor. The weight depends
 * only on the size, so a free subtracts exactly the weight that its alloc
 * added.
 *
 * The peak of a sampled heap. The maximum of an estimate is too high, because
 * it follows the noise. So the samples are divided into HEAP_FOLDS folds. Each
 * fold is an independent Poisson process of a third of the rate; a large block
 * may be in several. The peak of all other folds together is an arbitrary
 * moment for a fold, so the fold's estimate there is unbiased.
 * heap_peak_bytes() is the mean over all folds. It is low where noise hides a
 * short peak: with three folds by 12 % for a peak of 2.66 MiB in a quarter of
 * the time, above 1.33 MiB, sampled each 512 KiB; with two by 19 %. With more
 * folds the error grows. For a steady 1.33 MiB the maximum is 4.4 MiB, and the
 * folds report 1.37 (test_heap.c). The bytes in use now are an estimate by all
 * samples, which may be above that mean. Then they are the peak, as a peak below
 * the end contradicts itself. So a steady heap that is not freed has a peak that is
 * too high by half of its error on average: 1.96 MiB of three samples.
 */
#include "collector/heap/heap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "collector/base/budget.h"
#include "collector/base/lock.h"
#include "shared/compiler.h"

#define FREED_BITS 12
#define FREED_WAYS 4 /* entries of one set: a cache line */
#define INDEX_MIN 64u
#define SITES_MAX_ALL (HEAP_SITES_FIRST * ((1u << HEAP_SITE_CHUNKS) - 1))
/* A product of weight and size must fit into 64 bits, and a size with a level
 * above it into 48. */
#define SAMPLED_SIZE_MAX (1ULL << 43)
#define LEVEL_SHIFT 44
#define LEVEL_MAX 15u

enum freed_kind {
	FREED_NONE = 0,
	FREED_MATCHED = 1,
	FREED_FOREIGN = 2,
	FREED_DOUBLE = 3,
	FREED_UNSURE = 4, /* matched, but events of the address came late or not
			   * at all: another free proves nothing */
};

#define KIND_BITS 3

/* The latest free of an address without a live block. */
struct freed {
	uint64_t key; /* address << 16 | owner */
	uint64_t clock; /* << KIND_BITS | enum freed_kind */
};

/* --- sites --------------------------------------------------------------- */

static uint64_t site_hash(uint32_t owner, uint32_t stack)
{
	uint64_t x = ((uint64_t)owner << 32 | stack) * 0x9e3779b97f4a7c15ULL;

	return x ^ x >> 32;
}

static uint32_t chunk_of(uint32_t number)
{
	return 31 - (uint32_t)__builtin_clz(number / HEAP_SITES_FIRST + 1);
}

static size_t chunk_sites(uint32_t chunk)
{
	return (size_t)HEAP_SITES_FIRST << chunk;
}

static struct heap_site *get_site(const struct heap *heap, uint32_t number)
{
	uint32_t chunk = chunk_of(number);

	return heap->chunk[chunk] +
	       (number + HEAP_SITES_FIRST - chunk_sites(chunk));
}

static void index_put(struct heap *heap, uint32_t number)
{
	const struct heap_site *site = get_site(heap, number);
	uint64_t i = site_hash(site->owner, site->stack) & heap->index_mask;

	while (heap->index[i])
		i = (i + 1) & heap->index_mask;
	heap->index[i] = number + 1;
}

static bool reserve_index(struct heap *heap)
{
	uint32_t *old = heap->index, mask = heap->index_mask;
	uint64_t room = old ? 2 * (mask + 1ULL) : INDEX_MIN;

	if (old && 2ULL * (heap->site_count + 1) <= mask)
		return true;
	if (!budget_take(heap->budget, room * sizeof(*old)))
		return false;
	heap->index = calloc(room, sizeof(*old));
	if (!heap->index) {
		heap->index = old;
		budget_give(heap->budget, room * sizeof(*old));
		return false;
	}
	heap->index_mask = (uint32_t)(room - 1);
	for (uint32_t i = 0; i < heap->site_count; i++)
		index_put(heap, i);
	if (old)
		budget_give(heap->budget, (mask + 1ULL) * sizeof(*old));
	free(old);
	return true;
}

static bool reserve_site(struct heap *heap)
{
	uint32_t chunk = chunk_of(heap->site_count);
	size_t sites = chunk_sites(chunk);

	if (heap->site_count == SITES_MAX_ALL || !reserve_index(heap))
		return false;
	if (heap->chunk[chunk])
		return true;
	if (!budget_take(heap->budget, sites * sizeof(struct heap_site)))
		return false;
	heap->chunk[chunk] = calloc(sites, sizeof(struct heap_site));
	if (!heap->chunk[chunk])
		budget_give(heap->budget, sites * sizeof(struct heap_site));
	return heap->chunk[chunk];
}

uint32_t heap_site(struct heap *heap, uint32_t owner, uint32_t stack)
{
	struct heap_site *known;
	uint32_t site = 0;
	uint64_t i;

	lock_acquire(&heap->lock);
	i = site_hash(owner, stack) & heap->index_mask;
	while (heap->index[i]) {
		known = get_site(heap, heap->index[i] - 1);
		if (known->owner == owner && known->stack == stack)
			break;
		i = (i + 1) & heap->index_mask;
	}
	if (heap->index[i]) {
		site = heap->index[i] - 1;
	} else if (!reserve_site(heap)) {
		heap->totals.lost_sites++;
	} else {
		site = heap->site_count;
		*get_site(heap, site) =
			(struct heap_site){ .stack = stack, .owner = owner };
		index_put(heap, heap->site_count++);
	}
	lock_release(&heap->lock);
	return site;
}

uint32_t heap_site_count(struct heap *heap)
{
	return LOCKED(&heap->lock, heap->site_count);
}

const struct heap_site *heap_get_site(const struct heap *heap, uint32_t site)
{
	return get_site(heap, site);
}

struct heap_site *heap_site_at(struct heap *heap, uint32_t site)
{
	return get_site(heap, site);
}

struct heap_values heap_at_peak(const struct heap *heap,
				const struct heap_site *site)
{
	return site->epoch == heap->epoch ? site->then : site->now;
}

/* --- weights ------------------------------------------------------------- */

struct weight {
	uint64_t objects, bytes;
};

static struct weight weigh_block(const struct heap *heap, uint64_t size)
{
	double one = 1 << HEAP_FRACTION_BITS, scale;
	uint64_t period;

	if (likely(!heap->period))
		return (struct weight){ 1, size };
	period = heap->period >> (size >> LEVEL_SHIFT);
	size &= (1ULL << LEVEL_SHIFT) - 1;
	/* The shim samples an empty block as if it had one byte. */
	scale = -one / expm1(-(double)MAX(size, 1) / (double)MAX(period, 1));
	return (struct weight){ (uint64_t)(scale + 0.5),
				(uint64_t)(scale * (double)size + 0.5) };
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ULL;
	return x ^ x >> 32;
}

/* Returns the folds of @block as a bit mask. The block is in each fold with
 * probability @q, given that it is in at least one. */
static uint32_t draw_folds(const struct heap *heap,
			   const struct heap_block *block, double q)
{
	double none = -expm1(HEAP_FOLDS * log1p(-q)); /* 1 - P(no fold) */
	/* The same bits in every call for the same block. */
	uint64_t random = mix(
		mix((block->key ^ heap->table.secret) * 0x9e3779b97f4a7c15ULL) ^
		block->clock * 0x9e3779b97f4a7c15ULL);
	double drawn = (double)(random >> 11) / (double)(1ULL << 53);
	uint32_t first, folds;

	if (q >= 1)
		return (1u << HEAP_FOLDS) - 1;
	first = (uint32_t)(log1p(-drawn * none) / log1p(-q));
	first = MIN(first, HEAP_FOLDS - 1u);
	folds = 1u << first;
	while (++first < HEAP_FOLDS) {
		random = mix(random);
		if ((double)(random >> 11) < q * (double)(1ULL << 53))
			folds |= 1u << first;
	}
	return folds;
}

static uint64_t bytes_by(uint64_t size, double p)
{
	return (uint64_t)((1 << HEAP_FRACTION_BITS) * (double)size / p + 0.5);
}

static double variance_by(uint64_t size, double p)
{
	return (double)size * (double)size * (1 - p) / (p * p);
}

/* Adds @block to the estimates of its folds; @sign -1: subtracts it. */
static void count_in_folds(struct heap *heap, const struct heap_block *block,
			   int sign)
{
	uint64_t size = heap_block_size(block), by_one, by_others;
	double part = (double)MAX(size, 1) / (double)heap->period / HEAP_FOLDS;
	double q = -expm1(-part), others = -expm1(-part * (HEAP_FOLDS - 1));
	uint32_t folds = draw_folds(heap, block, q);

	heap->variance += sign * variance_by(size, -expm1(-part * HEAP_FOLDS));
	by_one = sign < 0 ? -bytes_by(size, q) : bytes_by(size, q);
	by_others = sign < 0 ? -bytes_by(size, others) : bytes_by(size, others);
	for (uint32_t i = 0; i < HEAP_FOLDS; i++) {
		struct heap_fold *fold = &heap->fold[i];

		if (folds & ~(1u << i))
			fold->others += by_others;
		if (!(folds & 1u << i))
			continue;
		fold->now += by_one;
		fold->variance += sign * variance_by(size, q);
	}
}

static void note_fold_peaks(struct heap *heap)
{
	for (int i = 0; i < HEAP_FOLDS; i++) {
		struct heap_fold *fold = &heap->fold[i];

		if (fold->others <= fold->most)
			continue;
		fold->most = fold->others;
		fold->then = fold->now;
		fold->then_variance = fold->variance;
	}
}

uint64_t heap_peak_bytes(const struct heap *heap, uint64_t *error)
{
	double variance = 0;
	uint64_t sum = 0;

	*error = 0;
	if (!heap->period)
		return heap->totals.peak.inuse_bytes;
	for (int i = 0; i < HEAP_FOLDS; i++) {
		const struct heap_fold *fold = &heap->fold[i];

		/* With few samples one fold may have all samples. */
		if (!fold->most) {
			*error = (uint64_t)sqrt(MAX(heap->peak_variance, 0.0));
			return heap_round(heap, heap->totals.peak.inuse_bytes);
		}
		sum += fold->then / HEAP_FOLDS;
		variance += fold->then_variance / (HEAP_FOLDS * HEAP_FOLDS);
	}
	if (sum < heap->totals.now.inuse_bytes) {
		sum = heap->totals.now.inuse_bytes;
		variance = heap->variance;
	}
	*error = (uint64_t)sqrt(MAX(variance, 0.0));
	return heap_round(heap, sum);
}

uint64_t heap_scale_peak(const struct heap *heap, uint64_t value)
{
	double most = (double)heap_round(heap, heap->totals.peak.inuse_bytes);
	uint64_t error;

	if (!heap->period || most < 1)
		return value;
	return (uint64_t)((double)value *
				  ((double)heap_peak_bytes(heap, &error) /
				   most) +
			  0.5);
}

uint64_t heap_sampled_size(uint64_t size, uint32_t level)
{
	return (uint64_t)MIN(level, LEVEL_MAX) << LEVEL_SHIFT |
	       MIN(size, SAMPLED_SIZE_MAX);
}

uint64_t heap_round(const struct heap *heap, uint64_t value)
{
	if (!heap->period)
		return value;
	return (value + (1 << (HEAP_FRACTION_BITS - 1))) >> HEAP_FRACTION_BITS;
}

uint64_t heap_round_next(const struct heap *heap, uint64_t *sum, uint64_t value)
{
	uint64_t before = heap_round(heap, *sum);

	*sum += value;
	return heap_round(heap, *sum) - before;
}

/* --- values of a site ---------------------------------------------------- */

static struct heap_site *change_site(struct heap *heap, uint32_t number)
{
	struct heap_site *site = get_site(heap, number);

	if (site->epoch != heap->epoch) {
		site->then = site->now;
		site->epoch = heap->epoch;
	}
	return site;
}

static void add_allocated(struct heap_values *values, struct weight weight)
{
	values->alloc_objects += weight.objects;
	values->alloc_bytes += weight.bytes;
}

static void add_inuse(struct heap_values *values, struct weight weight)
{
	values->inuse_objects += weight.objects;
	values->inuse_bytes += weight.bytes;
}

static void add_live(struct heap *heap, struct heap_site *site,
		     struct weight weight, uint64_t clock)
{
	struct heap_totals *totals = &heap->totals;

	add_inuse(&site->now, weight);
	if (heap->follows && heap->at_peak) {
		add_allocated(&site->then, weight);
		add_inuse(&site->then, weight);
	}
	if (site->now.inuse_bytes > site->peak_bytes)
		site->peak_bytes = site->now.inuse_bytes;
	add_inuse(&totals->now, weight);
	if (totals->now.inuse_bytes > totals->peak.inuse_bytes &&
	    !heap->follows) {
		totals->peak = totals->now;
		totals->peak_clock = clock;
		heap->peak_variance = heap->variance;
		heap->epoch++;
	}
}

static bool is_estimate(const struct heap *heap)
{
	return heap->period && !heap->follows;
}

static void end_heap_block(struct heap *heap, struct heap_block *block,
			   bool temporary)
{
	struct weight weight = weigh_block(heap, heap_block_size(block));
	struct heap_site *site = change_site(heap, block->site);

	site->now.inuse_objects -= weight.objects;
	site->now.inuse_bytes -= weight.bytes;
	heap->totals.now.inuse_objects -= weight.objects;
	heap->totals.now.inuse_bytes -= weight.bytes;
	if (unlikely(block->sampled)) {
		heap->ended = block->key & HEAP_ADDRESS_MAX;
		heap->ended_temporary = temporary;
	}
	if (temporary) {
		site->temporary += weight.objects;
		heap->totals.temporary += weight.objects;
	}
	if (is_estimate(heap))
		count_in_folds(heap, block, -1);
	heap_table_remove(&heap->table, block);
}

/* --- events -------------------------------------------------------------- */

/* Returns the latest free of @address. If it is unknown, returns the entry to
 * replace: an empty one of the set, or that of the oldest free. */
static struct freed *freed_at(const struct heap *heap, uint64_t address)
{
	struct freed *set = heap->freed + (address * 0x9e3779b97f4a7c15ULL >>
					   (64 - FREED_BITS)) /
						  FREED_WAYS * FREED_WAYS;
	struct freed *oldest = set;

	for (int i = 0; i < FREED_WAYS; i++) {
		if (set[i].key >> 16 == address)
			return &set[i];
		if (set[i].clock < oldest->clock)
			oldest = &set[i];
	}
	return oldest;
}

static enum freed_kind freed_kind(const struct freed *freed, uint64_t address)
{
	return freed->key >> 16 == address
		       ? (enum freed_kind)(freed->clock &
					   ((1u << KIND_BITS) - 1))
		       : FREED_NONE;
}

static uint64_t freed_clock(const struct freed *freed)
{
	return freed->clock >> KIND_BITS;
}

static bool is_freed_by(const struct freed *freed, uint32_t owner)
{
	return (freed->key & 0xffff) == (owner & 0xffff);
}

static void set_freed(struct heap *heap, struct freed *freed, uint64_t address,
		      uint64_t clock, uint32_t owner, enum freed_kind kind)
{
	uint64_t before = freed->key >> 16;

	/* An alloc may still explain the double free of another address. */
	if (before != address &&
	    unlikely(freed_kind(freed, before) == FREED_DOUBLE) &&
	    clock <= freed_clock(freed) + HEAP_SKEW_DOUBLE) {
		heap->totals.double_frees--;
		heap->totals.foreign_frees++;
	}
	freed->key = address << 16 | (owner & 0xffff);
	freed->clock = clock << KIND_BITS | kind;
}

/* Returns true if a block that thread @owner allocated at @clock is older than
 * @freed. Clocks of one thread are exact. Clocks of two threads may differ by
 * HEAP_SKEW; within that distance the block is older if the free had found no
 * block. */
static bool is_before_free(const struct freed *freed, enum freed_kind kind,
			   uint64_t clock, uint32_t owner)
{
	uint64_t skew = HEAP_SKEW;

	if (freed_clock(freed) > clock)
		return true;
	if (kind == FREED_MATCHED || kind == FREED_UNSURE ||
	    is_freed_by(freed, owner))
		return false;
	if (kind == FREED_DOUBLE)
		skew = HEAP_SKEW_DOUBLE;
	return clock - freed_clock(freed) <= skew;
}

/* Returns true if the block that was allocated at @clock has ended already.
 * If not, ends any older block at @address. Sets *@unsure if a free was
 * implied. */
static bool is_block_over(struct heap *heap, uint64_t clock, uint64_t address,
			  uint32_t owner, bool *unsure)
{
	struct heap_block *live = heap_table_find(&heap->table, address);
	struct freed *freed;
	struct heap_totals *totals = &heap->totals;
	enum freed_kind kind;
	bool had_block;

	if (live) {
		*unsure = true;
		heap->totals.implied_frees++;
		if (live->clock > clock) {
			live->unsure = true;
			return true;
		}
		end_heap_block(heap, live, false);
		return false;
	}
	freed = freed_at(heap, address);
	kind = freed_kind(freed, address);
	if (kind == FREED_NONE)
		return false;
	if (!is_before_free(freed, kind, clock, owner)) {
		*freed = (struct freed){ 0 };
		return false;
	}
	had_block = kind == FREED_MATCHED || kind == FREED_UNSURE;
	totals->foreign_frees -= kind == FREED_FOREIGN;
	totals->double_frees -= kind == FREED_DOUBLE;
	totals->matched_frees += !had_block;
	totals->implied_frees += had_block;
	freed->clock = freed_clock(freed) << KIND_BITS | FREED_UNSURE;
	return true;
}

static struct weight count_alloc(struct heap *heap, uint64_t size,
				 uint32_t number)
{
	struct weight weight = weigh_block(heap, size);

	heap->totals.allocs++;
	add_allocated(&change_site(heap, number)->now, weight);
	add_allocated(&heap->totals.now, weight);
	return weight;
}

void heap_alloc_untracked(struct heap *heap, uint64_t size, uint32_t site)
{
	(void)count_alloc(heap, MIN(size, HEAP_SIZE_MAX), site);
	heap->totals.untracked++;
	heap->incomplete = true;
}

void heap_alloc(struct heap *heap, uint64_t clock, uint64_t address,
		uint64_t size, uint32_t number)
{
	struct heap_block *block;
	struct weight weight;
	bool unsure = false;

	size = MIN(size, HEAP_SIZE_MAX);
	weight = count_alloc(heap, size, number);
	if (is_block_over(heap, clock, address, get_site(heap, number)->owner,
			  &unsure))
		return;
	block = heap_table_add(&heap->table, address, size, clock, number);
	if (likely(block)) {
		block->unsure = unsure;
		if (is_estimate(heap)) {
			count_in_folds(heap, block, 1);
			note_fold_peaks(heap);
		}
		add_live(heap, get_site(heap, number), weight, clock);
		return;
	}
	heap->totals.untracked++;
	heap->incomplete = true;
}

static enum heap_free free_unknown(struct heap *heap, uint64_t clock,
				   uint64_t address, uint32_t owner)
{
	struct freed *freed = freed_at(heap, address);
	enum freed_kind kind = freed_kind(freed, address);
	struct heap_totals *totals = &heap->totals;

	if (kind != FREED_NONE && clock < freed_clock(freed)) {
		totals->late_frees++;
		return HEAP_LATE;
	}
	if (heap->incomplete ||
	    (kind != FREED_MATCHED && kind != FREED_DOUBLE)) {
		totals->foreign_frees++;
		set_freed(heap, freed, address, clock, owner, FREED_FOREIGN);
		return HEAP_FOREIGN;
	}
	totals->double_frees++;
	/* The order of two threads at nearly the same time is unknown, so the
	 * entry keeps no owner. */
	if (clock - freed_clock(freed) <= HEAP_SKEW &&
	    !is_freed_by(freed, owner))
		owner = 0;
	set_freed(heap, freed, address, clock, owner, FREED_DOUBLE);
	return HEAP_DOUBLE;
}

enum heap_free heap_free(struct heap *heap, uint64_t clock, uint64_t address,
			 uint32_t owner, bool temporary)
{
	struct heap_block *block = heap_table_find(&heap->table, address);
	enum freed_kind kind = FREED_MATCHED;

	if (!block)
		return free_unknown(heap, clock, address, owner);
	if (clock < block->clock) {
		heap->totals.late_frees++;
		return HEAP_LATE;
	}
	if (block->unsure)
		kind = FREED_UNSURE;
	end_heap_block(heap, block, temporary);
	heap->totals.matched_frees++;
	set_freed(heap, freed_at(heap, address), address, clock, owner, kind);
	return HEAP_FREED;
}

bool heap_mark(struct heap *heap, uint64_t clock, uint64_t address,
	       bool *at_peak)
{
	struct heap_block *block = heap_table_find(&heap->table, address);

	*at_peak = false;
	if (!block || block->clock > clock)
		return false;
	block->sampled = 1;
	*at_peak = block->clock <= heap->totals.peak_clock;
	return true;
}

void heap_doubt(struct heap *heap, uint64_t address)
{
	struct freed *freed = freed_at(heap, address);

	heap->incomplete = true;
	if (freed_kind(freed, address) != FREED_DOUBLE)
		return;
	heap->totals.double_frees--;
	heap->totals.foreign_frees++;
	freed->clock = freed_clock(freed) << KIND_BITS | FREED_FOREIGN;
}

bool heap_is_double(const struct heap *heap, uint64_t clock, uint64_t address)
{
	const struct freed *freed = freed_at(heap, address);

	/* False if the entry was replaced. A later free of the address confirms
	 * the report. */
	return freed_kind(freed, address) == FREED_DOUBLE &&
	       freed_clock(freed) >= clock;
}

/* --- life ---------------------------------------------------------------- */

#define FREED_BYTES (sizeof(struct freed) << FREED_BITS)

int heap_init(struct heap *heap, struct budget *budget, uint64_t period,
	      uint64_t secret)
{
	*heap = (struct heap){ .budget = budget, .period = period };
	/* A sampled heap lacks most blocks. */
	heap->incomplete = period;
	heap->epoch = 1;
	if (!budget_take(budget, FREED_BYTES))
		return -ENOMEM;
	lock_init(&heap->lock, LOCK_HEAP);
	heap_table_init(&heap->table, budget, secret);
	heap->freed = calloc(1u << FREED_BITS, sizeof(*heap->freed));
	if (heap->freed && reserve_site(heap)) {
		index_put(heap, heap->site_count++);
		return 0;
	}
	heap_release(heap);
	return -ENOMEM;
}

void heap_release(struct heap *heap)
{
	heap_table_release(&heap->table);
	for (uint32_t i = 0; i < HEAP_SITE_CHUNKS && heap->chunk[i]; i++) {
		budget_give(heap->budget,
			    chunk_sites(i) * sizeof(struct heap_site));
		free(heap->chunk[i]);
	}
	if (heap->index)
		budget_give(heap->budget,
			    (heap->index_mask + 1ULL) * sizeof(*heap->index));
	budget_give(heap->budget, FREED_BYTES);
	free(heap->index);
	free(heap->freed);
	lock_destroy(&heap->lock);
	*heap = (struct heap){ 0 };
}
