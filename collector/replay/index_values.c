/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/index_values.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "collector/trace/index_items.h"
#include "shared/compiler.h"

/* The most tracks whose values are kept; values of others are written at
 * once. */
#define VALUES_MAX 16384u
#define NEAR_BYTES 32
/* About the bytes of an item, and of a packet, beside the fields. */
#define ITEM_BYTES 10
#define PACKET_BYTES 10

struct index_value {
	uint64_t uuid; /* of the track; 0: the sequence's own */
	uint64_t absolute;
	uint64_t ns;
	uint8_t near[NEAR_BYTES], *far;
	uint32_t bytes, far_room;
	bool untold;
};

void index_values_init(struct index_values *values, struct budget *budget)
{
	*values = (struct index_values){ 0 };
	pool_init(&values->pool, budget, sizeof(struct index_value),
		  2 * sizeof(uint64_t));
}

static void release_untold(struct index_values *values,
			   struct index_untold *untold)
{
	if (values->pool.budget)
		budget_give(values->pool.budget,
			    untold->room * sizeof(*untold->numbers));
	free(untold->numbers);
}

void index_values_release(struct index_values *values)
{
	struct index_value *value = values->pool.items;

	for (uint32_t i = 0; i < values->pool.count; i++, value++) {
		budget_give(values->pool.budget, value->far_room);
		free(value->far);
	}
	release_untold(values, &values->steps);
	release_untold(values, &values->absolute);
	bytes_release(&values->payload);
	pool_release(&values->pool);
}

static void put_value(struct index_values *values, uint64_t ns,
		      const uint8_t *fields, size_t bytes, struct bytes *items)
{
	bytes_varint(&values->payload, ns);
	bytes_put(&values->payload, fields, bytes);
	items->failed |= values->payload.failed;
	index_put_item(items, INDEX_VALUE, values->payload.at,
		       values->payload.count);
	bytes_clear(&values->payload);
}

static struct index_value *value_of(struct index_values *values, uint64_t track,
				    const struct encode_event *event)
{
	struct index_untold *untold =
		event->absolute ? &values->absolute : &values->steps;
	const struct index_value key = { .uuid = track,
					 .absolute = event->absolute };
	struct index_value *value;
	uint32_t number;

	if (values->pool.count >= VALUES_MAX
		    ? !pool_find(&values->pool, &key, &number)
		    : pool_intern(&values->pool, &key, &number) < 0)
		return NULL;
	value = (struct index_value *)values->pool.items + number;
	if (value->untold)
		return value;
	if (grow_array_from(values->pool.budget, untold->numbers, untold->room,
			    untold->count + 1))
		return NULL;
	untold->numbers[untold->count++] = number;
	if (!event->absolute)
		values->steps_bytes += ITEM_BYTES;
	value->untold = true;
	value->bytes = 0;
	return value;
}

static bool keep(struct index_values *values, struct index_value *value,
		 uint64_t ns, const uint8_t *fields, size_t count)
{
	if (count > NEAR_BYTES &&
	    (count > UINT32_MAX ||
	     grow_array_from(values->pool.budget, value->far, value->far_room,
			     count)))
		return false;
	memcpy(count > NEAR_BYTES ? value->far : value->near, fields, count);
	if (!value->absolute)
		values->steps_bytes += count - value->bytes;
	value->bytes = (uint32_t)count;
	value->ns = ns;
	return true;
}

/* Keeps the fields of @value, or writes them if that fails. */
static void take_fields(struct index_values *values, struct index_value *value,
			uint64_t ns, const uint8_t *fields, size_t count,
			struct bytes *items)
{
	struct bytes kept = values->payload;

	if (value && value->bytes && ns < value->ns)
		return;
	if (value && keep(values, value, ns, fields, count))
		return;
	/* The kept value is not the last one any more. */
	if (value)
		value->bytes = 0;
	values->payload = (struct bytes){ 0 };
	put_value(values, ns, fields, count, items);
	bytes_release(&values->payload);
	values->payload = kept;
}

void index_values_take(struct index_values *values, uint64_t ns,
		       const struct encode_event *event, uint64_t track,
		       struct bytes *items)
{
	uint8_t *fields;
	size_t count;

	if (event->absolute) {
		if (!values->last_ns || ns < values->first_ns)
			values->first_ns = ns;
		values->last_ns = MAX(values->last_ns, ns);
	}
	if (event->type != TYPE_COUNTER && event->type != TYPE_STATE)
		return;
	fields = bytes_add(&values->payload, encode_event_bytes(event));
	if (!fields) {
		items->failed = true;
		return;
	}
	count = encode_fields(fields, event);
	values->taken_bytes += count + PACKET_BYTES;
	take_fields(values, value_of(values, track, event), ns, fields, count,
		    items);
	bytes_clear(&values->payload);
}

static void put_untold(struct index_values *values, struct index_untold *untold,
		       struct bytes *items)
{
	struct index_value *all = values->pool.items;

	for (uint32_t i = 0; i < untold->count; i++) {
		struct index_value *value = &all[untold->numbers[i]];

		if (value->bytes)
			put_value(values, value->ns,
				  value->bytes > NEAR_BYTES ? value->far
							    : value->near,
				  value->bytes, items);
		value->untold = false;
	}
	untold->count = 0;
}

void index_values_put_block(struct index_values *values, struct bytes *items)
{
	put_untold(values, &values->absolute, items);
	if (!values->last_ns)
		return;
	bytes_varint(&values->payload, values->first_ns);
	bytes_varint(&values->payload, values->last_ns - values->first_ns);
	items->failed |= values->payload.failed;
	index_put_item(items, INDEX_TIMES, values->payload.at,
		       values->payload.count);
	bytes_clear(&values->payload);
	values->first_ns = values->last_ns = 0;
}

void index_values_put_steps(struct index_values *values, struct bytes *items)
{
	put_untold(values, &values->steps, items);
	values->steps_bytes = values->taken_bytes = 0;
}
