/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/index_curve_set.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "shared/compiler.h"

static bool extent_is_whole(const struct trace_index *index,
			    const struct index_extent *extent)
{
	struct index_get get = extent->sequences;
	const struct index_sequence *sequence;
	uint64_t id = 0;

	for (uint32_t i = 0; i < extent->sequence_count; i++) {
		id += index_get_number(&get);
		sequence = id <= UINT32_MAX
				   ? trace_index_sequence(index, (uint32_t)id)
				   : NULL;
		if (!sequence || !sequence->curves_end)
			return false;
	}
	return true;
}

bool index_curves_are_whole(const struct trace_index *index)
{
	if (!index->whole || !index->has_rest || !index->curves_end)
		return false;
	for (uint32_t i = 0; i < index->sequence_count; i++)
		if (index->sequences[i].checkpoint_count &&
		    !index->sequences[i].curves_end)
			return false;
	for (uint32_t i = 0; i < index->extent_count; i++)
		if (!extent_is_whole(index, &index->extents[i]))
			return false;
	return true;
}

static int keep_counter(struct index_curve_set *set,
			const struct index_curve_item *item)
{
	struct index_get get = item->get;
	struct index_curve_counter counter = { .sequence = item->sequence };

	index_get_number(&get);
	counter.number = index_get_number(&get);
	counter.uuid = index_get_number(&get);
	counter.real = index_get_number(&get);
	if (get.bad || !counter.uuid)
		return -EBADMSG;
	if (grow_array(set->counters, set->room, set->count + 1))
		return -ENOMEM;
	set->counters[set->count++] = counter;
	return 0;
}

static int keep_curve_block(struct index_curve_set *set,
			    const struct index_curve_item *item, uint32_t order)
{
	struct index_curve_block block = { .sequence = item->sequence,
					   .order = order,
					   .buckets = item->get };

	if (!index_curve_head(&block.buckets, &block.head))
		return -EBADMSG;
	block.counter = block.head.curve;
	if (grow_array(set->blocks, set->block_room, set->block_count + 1))
		return -ENOMEM;
	set->blocks[set->block_count++] = block;
	return 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_counters(const void *a, const void *b)
{
	const struct index_curve_counter *one = a, *other = b;

	return compare(one->sequence, other->sequence)
		       ?: compare(one->number, other->number);
}

static int compare_orders(const void *a, const void *b)
{
	const struct index_curve_block *one = a, *other = b;

	return compare(one->sequence, other->sequence)
		       ?: compare(one->counter, other->counter)
			       ?: compare(one->order, other->order);
}

static int compare_places(const void *a, const void *b)
{
	const struct index_curve_block *one = a, *other = b;

	return compare(one->first, other->first)
		       ?: compare(other->head.level, one->head.level);
}

/* Computes the blocks of level 0 that each of the @count blocks of a counter
 * covers. @blocks are in the order of the index. Returns false if the levels
 * are damaged. */
static bool place_blocks(struct index_curve_block *blocks, uint32_t count)
{
	uint32_t covered[INDEX_CURVE_LEVELS] = { 0 }, lowest = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct index_curve_block *block = &blocks[i];
		unsigned int level = block->head.level;

		lowest += !level;
		if (covered[level] >= lowest)
			return false;
		block->first = covered[level];
		block->last = lowest - 1;
		covered[level] = lowest;
	}
	return true;
}

static int give_blocks(struct index_curve_set *set)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		struct index_curve_counter *counter = &set->counters[i];
		struct index_curve_block *blocks = set->blocks + at;
		uint32_t count = 0;

		while (at + count < set->block_count &&
		       blocks[count].sequence == counter->sequence &&
		       blocks[count].counter == counter->number)
			count++;
		if (!place_blocks(blocks, count))
			return -EBADMSG;
		if (count)
			qsort(blocks, count, sizeof(*blocks), compare_places);
		counter->blocks = blocks;
		counter->count = count;
		at += count;
	}
	/* Blocks without a counter are damage. */
	return at == set->block_count ? 0 : -EBADMSG;
}

int index_curve_set_make(const struct trace_index *index,
			 struct index_curve_set *out)
{
	int err = 0;

	for (uint32_t i = 0; i < index->curve_count && !err; i++)
		err = index->curves[i].kind == INDEX_COUNTER
			      ? keep_counter(out, &index->curves[i])
			      : keep_curve_block(out, &index->curves[i], i);
	if (err)
		return err;
	if (out->count)
		qsort(out->counters, out->count, sizeof(*out->counters),
		      compare_counters);
	if (out->block_count)
		qsort(out->blocks, out->block_count, sizeof(*out->blocks),
		      compare_orders);
	return give_blocks(out);
}

void index_curve_set_release(struct index_curve_set *set)
{
	free(set->counters);
	free(set->blocks);
	*set = (struct index_curve_set){ 0 };
}
