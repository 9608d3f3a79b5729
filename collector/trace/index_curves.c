/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/index_curves.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "shared/compiler.h"

#define BLOCK_VALUES 4096u
#define PARTS 4u
#define BUCKETS_MAX 32u
#define BUCKETS_FIRST 2u
#define VALUES_BYTE 8u
#define BYTES_MIN 24u
#define BYTES_MAX (BLOCK_VALUES / VALUES_BYTE)
/* Blocks may also use this part of the bytes of packets without values, up to
 * SPARE_MAX. */
#define SPARE_PART 512u
#define SPARE_MAX (64u << 10)
/* A block begins with buckets this much narrower than at the end of the block
 * before. */
#define SHIFT_BACK 2u

struct curve_block {
	struct index_bucket *buckets;
	uint32_t count;
	uint16_t room;
	uint8_t shift;
	uint8_t parts;
	uint64_t values;
};

struct index_curve {
	uint64_t uuid;
	uint64_t real;
	struct curve_block *levels;
	uint32_t level_room;
	bool told;
};

/* --- values -------------------------------------------------------------- */

/* Returns a number with the order of the values; NaN has none. */
static int64_t order_of(bool real, uint64_t bits)
{
	bool negative = real && bits >> 63;

	return (int64_t)(negative ? bits ^ INT64_MAX : bits);
}

bool index_curve_less(bool real, uint64_t a, uint64_t b)
{
	return order_of(real, a) < order_of(real, b);
}

bool index_curve_is_nan(bool real, uint64_t bits)
{
	return real && (bits << 1) > UINT64_C(0x7ff) << 53;
}

void index_bucket_join(struct index_bucket *to, bool real,
		       const struct index_bucket *from)
{
	to->several = true;
	if (from->last_ns >= to->last_ns) {
		to->last_ns = from->last_ns;
		to->last = from->last;
	}
	if (index_curve_is_nan(real, from->min))
		return;
	if (index_curve_is_nan(real, to->min)) {
		to->min = from->min;
		to->max = from->max;
		return;
	}
	if (index_curve_less(real, from->min, to->min))
		to->min = from->min;
	if (index_curve_less(real, to->max, from->max))
		to->max = from->max;
}

/* --- blocks -------------------------------------------------------------- */

void index_curves_init(struct index_curves *curves, struct budget *budget,
		       bool apart)
{
	*curves = (struct index_curves){ .apart = apart };
	pool_init(&curves->pool, budget, sizeof(struct index_curve),
		  2 * sizeof(uint64_t));
}

void index_curves_release(struct index_curves *curves)
{
	struct index_curve *curve = curves->pool.items;

	for (uint32_t i = 0; i < curves->pool.count; i++, curve++) {
		struct budget *budget = curves->pool.budget;

		for (uint32_t k = 0; k < curve->level_room; k++) {
			struct curve_block *block = &curve->levels[k];

			budget_give(budget,
				    block->room * sizeof(*block->buckets));
			free(block->buckets);
		}
		budget_give(budget, curve->level_room * sizeof(*curve->levels));
		free(curve->levels);
	}
	bytes_release(&curves->payload);
	pool_release(&curves->pool);
	curves->pool = (struct pool){ 0 };
}

static void widen_curve(struct curve_block *block, bool real)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < block->count; i++) {
		struct index_bucket bucket = block->buckets[i];

		bucket.number >>= 1;
		if (kept && block->buckets[kept - 1].number == bucket.number)
			index_bucket_join(&block->buckets[kept - 1], real,
					  &bucket);
		else
			block->buckets[kept++] = bucket;
	}
	block->count = kept;
	block->shift++;
}

/* Returns the index of bucket @number, or where to insert it. */
static uint32_t cell_place(const struct curve_block *block, uint64_t number)
{
	uint32_t count = block->count;

	/* Usually it is the last one, or a new one behind it. */
	if (!count || block->buckets[count - 1].number < number)
		return count;
	return search_first(i, count, block->buckets[i].number >= number);
}

/* Returns true if there is room for one more bucket. Otherwise widens the
 * buckets, or gives up without memory for even one bucket. */
static bool has_room(struct index_curves *curves, struct curve_block *block,
		     bool real)
{
	uint32_t room = block->room;

	if (block->count < room)
		return true;
	room = room ? MIN(2 * room, BUCKETS_MAX) : BUCKETS_FIRST;
	if (block->count < room &&
	    !grow_array_from(curves->pool.budget, block->buckets, block->room,
			     room))
		return true;
	if (!block->count)
		curves->lost = true;
	else
		widen_curve(block, real);
	return false;
}

/* Adds @bucket, whose number is in units of 2^@shift ns. */
static void add_bucket(struct index_curves *curves, struct curve_block *block,
		       bool real, struct index_bucket bucket,
		       unsigned int shift)
{
	uint64_t number = bucket.number;
	uint32_t at;

	while (!curves->lost) {
		bucket.number = number >> (block->shift - shift);
		at = cell_place(block, bucket.number);
		if (at < block->count &&
		    block->buckets[at].number == bucket.number) {
			index_bucket_join(&block->buckets[at], real, &bucket);
			return;
		}
		if (!has_room(curves, block, real))
			continue;
		memmove(block->buckets + at + 1, block->buckets + at,
			(block->count - at) * sizeof(*block->buckets));
		block->buckets[at] = bucket;
		block->count++;
		return;
	}
}

/* --- items --------------------------------------------------------------- */

/* Returns a small number if @bits is similar to @before. other() is the
 * inverse. */
static uint64_t difference(bool real, uint64_t before, uint64_t bits)
{
	return real ? __builtin_bswap64(bits ^ before)
		    : index_zigzag((int64_t)(bits - before));
}

static uint64_t other(bool real, uint64_t before, uint64_t difference)
{
	return real ? __builtin_bswap64(difference) ^ before
		    : before + (uint64_t)index_unzigzag(difference);
}

/* Flags of a bucket; above them is the distance to the bucket before. */
#define HAS_MIN 1u /* differs from the last value */
#define HAS_MAX 2u
#define SEVERAL 4u
#define STEP_SHIFT 3

static void put_bucket(struct bytes *out, const struct index_bucket *before,
		       const struct index_bucket *bucket, bool real,
		       unsigned int shift)
{
	uint64_t flags = (bucket->several ? SEVERAL : 0) |
			 (bucket->min != bucket->last ? HAS_MIN : 0) |
			 (bucket->max != bucket->last ? HAS_MAX : 0);

	bytes_varint(out,
		     (bucket->number - before->number) << STEP_SHIFT | flags);
	bytes_varint(out, bucket->last_ns - (bucket->number << shift));
	bytes_varint(out, difference(real, before->last, bucket->last));
	if (flags & HAS_MIN)
		bytes_varint(out, difference(real, bucket->last, bucket->min));
	if (flags & HAS_MAX)
		bytes_varint(out, difference(real, bucket->last, bucket->max));
}

static void put_buckets(const struct curve_block *block, bool real,
			struct bytes *out)
{
	struct index_bucket before = { .number = block->buckets[0].number };

	for (uint32_t i = 0; i < block->count; i++) {
		put_bucket(out, &before, &block->buckets[i], real,
			   block->shift);
		before = block->buckets[i];
	}
}

static void put_payload(struct index_curves *curves, enum index_kind kind,
			struct bytes *items)
{
	struct bytes *payload = &curves->payload;

	items->failed |= payload->failed;
	index_put_item(items, kind, payload->at, payload->count);
	bytes_clear(payload);
}

/* Writes @block, after widening its buckets to fit its limit. */
static void put_block(struct index_curves *curves, uint32_t number,
		      unsigned int level, struct curve_block *block, bool real,
		      struct bytes *items)
{
	struct bytes *payload = &curves->payload;
	uint64_t own =
		MIN(MAX(block->values / VALUES_BYTE, BYTES_MIN), BYTES_MAX);
	uint64_t most = MIN(own + curves->spare, BYTES_MAX), bytes;

	for (;;) {
		uint64_t first;

		bytes_clear(payload);
		first = block->buckets[0].number;
		bytes_varint(payload, 2 * level + curves->apart);
		bytes_varint(payload, number);
		bytes_varint(payload, block->values);
		bytes_varint(payload, block->shift);
		bytes_varint(payload, first);
		bytes_varint(payload,
			     block->buckets[block->count - 1].number - first);
		bytes = payload->count;
		put_buckets(block, real, payload);
		bytes = payload->count - bytes;
		if (block->count == 1 || payload->failed || bytes <= most)
			break;
		widen_curve(block, real);
	}
	curves->spare -= MIN(MAX(bytes, own) - own, curves->spare);
	put_payload(curves, INDEX_CURVE, items);
}

bool index_curve_head(struct index_get *item, struct index_curve_head *out)
{
	uint64_t level = index_get_number(item), shift;

	out->apart = level & 1;
	out->curve = index_get_number(item);
	out->values = index_get_number(item);
	shift = index_get_number(item);
	out->first = index_get_number(item);
	out->last = out->first + index_get_number(item);
	if (item->bad || level / 2 >= INDEX_CURVE_LEVELS ||
	    shift > INDEX_CURVE_SHIFT_MAX || out->last < out->first ||
	    out->last >= UINT64_MAX >> shift)
		return false;
	out->level = (unsigned int)(level / 2);
	out->shift = (unsigned int)shift;
	return true;
}

bool index_curve_next(struct index_get *item,
		      const struct index_curve_head *head, bool real,
		      struct index_bucket *out)
{
	uint64_t step, inside, before = out->last;

	if (item->bad || item->at == item->end)
		return false;
	step = index_get_number(item);
	inside = index_get_number(item);
	item->bad |= step >> STEP_SHIFT > head->last - out->number ||
		     inside >> head->shift;
	if (item->bad)
		return false;
	out->number += step >> STEP_SHIFT;
	out->last_ns = (out->number << head->shift) + inside;
	out->last = other(real, before, index_get_number(item));
	out->min = out->max = out->last;
	out->several = step & SEVERAL;
	if (step & HAS_MIN)
		out->min = other(real, out->last, index_get_number(item));
	if (step & HAS_MAX)
		out->max = other(real, out->last, index_get_number(item));
	return !item->bad;
}

/* --- curves -------------------------------------------------------------- */

static struct index_curve *curve_at(const struct index_curves *curves,
				    uint32_t number)
{
	return (struct index_curve *)curves->pool.items + number;
}

static struct curve_block *level_of(struct index_curves *curves,
				    struct index_curve *curve,
				    unsigned int level)
{
	uint32_t before = curve->level_room;

	if (likely(level < before))
		return &curve->levels[level];
	if (grow_array_from(curves->pool.budget, curve->levels,
			    curve->level_room, level + 1)) {
		curves->lost = true;
		return NULL;
	}
	memset(curve->levels + before, 0,
	       (curve->level_room - before) * sizeof(*curve->levels));
	return &curve->levels[level];
}

static void move_curve_up(struct index_curves *curves,
			  struct index_curve *curve, unsigned int level)
{
	struct curve_block *above = level_of(curves, curve, level + 1), *block;
	bool real = curve->real;

	if (!above)
		return;
	block = &curve->levels[level];
	while (above->shift < block->shift)
		widen_curve(above, real);
	for (uint32_t i = 0; i < block->count; i++)
		add_bucket(curves, above, real, block->buckets[i],
			   block->shift);
	above->values += block->values;
	above->parts++;
	block->count = block->parts = 0;
	block->values = 0;
	block->shift = MAX(block->shift, SHIFT_BACK) - SHIFT_BACK;
}

void index_curves_spare(struct index_curves *curves, uint64_t bytes)
{
	curves->spare = MIN(curves->spare + bytes / SPARE_PART, SPARE_MAX);
}

static unsigned int top_of(const struct index_curve *curve)
{
	unsigned int top = MIN(curve->level_room, INDEX_CURVE_LEVELS);

	while (top && !curve->levels[top - 1].count)
		top--;
	return top;
}

/* Ends the block of level 0: writes it and all complete blocks above. With
 * @last, writes all blocks that have several parts. */
static void put_levels(struct index_curves *curves, uint32_t number, bool last,
		       struct bytes *items)
{
	struct index_curve *curve = curve_at(curves, number);

	for (unsigned int level = 0; level < top_of(curve); level++) {
		struct curve_block *block = &curve->levels[level];

		if (curves->lost || (!last && level && block->parts < PARTS))
			return;
		if (!block->count)
			continue;
		if (!curve->told) {
			curve->told = true;
			bytes_varint(&curves->payload, curves->apart);
			bytes_varint(&curves->payload, number);
			bytes_varint(&curves->payload, curve->uuid);
			bytes_varint(&curves->payload, curve->real);
			put_payload(curves, INDEX_COUNTER, items);
		}
		if (!level || block->parts > 1)
			put_block(curves, number, level, block, curve->real,
				  items);
		if (level + 1 < (last ? top_of(curve) : INDEX_CURVE_LEVELS))
			move_curve_up(curves, curve, level);
	}
}

void index_curves_take(struct index_curves *curves, uint64_t ns,
		       const struct index_count *count, struct bytes *items)
{
	const struct index_curve key = { .uuid = count->uuid,
					 .real = count->real };
	const struct index_bucket bucket = {
		.number = ns,
		.last_ns = ns,
		.min = count->bits,
		.max = count->bits,
		.last = count->bits,
	};
	struct curve_block *block;
	uint32_t number;

	curves->lost |= ns >> INDEX_CURVE_SHIFT_MAX != 0;
	if (curves->lost)
		return;
	if (pool_intern(&curves->pool, &key, &number) < 0) {
		curves->lost = true;
		return;
	}
	block = level_of(curves, curve_at(curves, number), 0);
	if (!block)
		return;
	add_bucket(curves, block, count->real, bucket, 0);
	block->values++;
	if (unlikely(block->values >= BLOCK_VALUES ||
		     (block->count == BUCKETS_MAX &&
		      curves->spare >= BYTES_MAX)))
		put_levels(curves, number, false, items);
}

void index_curves_end(struct index_curves *curves, struct bytes *items)
{
	for (uint32_t i = 0; i < curves->pool.count; i++)
		put_levels(curves, i, true, items);
	if (curves->lost)
		return;
	bytes_varint(&curves->payload, curves->apart);
	put_payload(curves, INDEX_CURVES_END, items);
	/* Drops values after the end. */
	curves->lost = true;
}
