/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay/index_values.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/index/index_items.h"
#include "collector/trace/encode.h"
#include "collector/trace/packet_fields.h"
#include "shared/compiler.h"

/* The values of so many tracks are kept; those of others are told one by one.
 */
#define VALUES_MAX 64u

void index_values_release(struct index_values *values, struct budget *budget)
{
	for (uint32_t i = 0; i < values->room; i++) {
		budget_give(budget, values->list[i].room);
		free(values->list[i].fields);
	}
	budget_give(budget, values->room * sizeof(*values->list));
	free(values->list);
	bytes_release(&values->payload);
	*values = (struct index_values){ 0 };
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

static uint64_t track_of(const struct encode_event *event)
{
	struct index_get fields = { 0 };
	struct packet_field field;

	if (!event->fields)
		return 0;
	fields.at = event->fields;
	fields.end = event->fields + event->field_bytes;
	while (packet_field_next(&fields, &field))
		if (field.tag == TAG_TRACK_EVENT_TRACK_UUID)
			return field.value;
	return 0;
}

/* Where the value of track @uuid is kept; NULL: there is no room. */
static struct index_value *value_of(struct index_values *values,
				    struct budget *budget, uint64_t uuid,
				    bool absolute)
{
	uint32_t at = 0, before = values->room;
	struct index_value *value;

	while (at < values->count && (values->list[at].uuid != uuid ||
				      values->list[at].absolute != absolute))
		at++;
	if (at == VALUES_MAX ||
	    grow_array_from(budget, values->list, values->room, at + 1))
		return NULL;
	memset(values->list + before, 0,
	       (values->room - before) * sizeof(*values->list));
	value = &values->list[at];
	if (at == values->count) {
		values->count++;
		value->uuid = uuid;
		value->absolute = absolute;
		value->bytes = 0;
	}
	return value;
}

static void take_value(struct index_values *values, struct budget *budget,
		       uint64_t ns, const struct encode_event *event,
		       struct bytes *items)
{
	struct index_value *value =
		value_of(values, budget, track_of(event), event->absolute);
	size_t most = encode_event_bytes(event);

	if (value && value->bytes && ns < value->ns)
		return;
	if (value &&
	    !grow_array_from(budget, value->fields, value->room, most)) {
		value->ns = ns;
		value->bytes = (uint32_t)encode_fields(value->fields, event);
		return;
	}
	if (value)
		value->bytes = 0;
	if (bytes_add(&values->payload, most)) {
		uint8_t *fields = values->payload.at;
		size_t bytes = encode_fields(fields, event);
		struct bytes copy = values->payload;

		values->payload = (struct bytes){ 0 };
		put_value(values, ns, fields, bytes, items);
		bytes_release(&copy);
	} else {
		items->failed = true;
	}
}

void index_values_take(struct index_values *values, struct budget *budget,
		       uint64_t ns, const struct encode_event *event,
		       struct bytes *items)
{
	if (event->absolute) {
		if (!values->last_ns || ns < values->first_ns)
			values->first_ns = ns;
		values->last_ns = MAX(values->last_ns, ns);
	}
	if (event->type == TYPE_COUNTER || event->type == TYPE_STATE)
		take_value(values, budget, ns, event, items);
}

void index_values_put(struct index_values *values, struct bytes *items)
{
	for (uint32_t i = 0; i < values->count; i++)
		if (values->list[i].bytes)
			put_value(values, values->list[i].ns,
				  values->list[i].fields, values->list[i].bytes,
				  items);
	values->count = 0;
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
