/* SPDX-License-Identifier: Apache-2.0
 *
 * packet_fields - fields of protobuf, for those who look into packets that were
 * made here. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_TRACE_PACKET_FIELDS_H
#define PERFREC_COLLECTOR_TRACE_PACKET_FIELDS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collector/index/index_items.h"
#include "collector/trace/fields.h"

struct packet_field {
	uint64_t tag, value; /* value: of bytes, how many there are */
	const uint8_t *bytes; /* NULL: a number */
};

/* Takes the next field off @from. False: there are no more. */
static inline bool packet_field_next(struct index_get *from,
				     struct packet_field *out)
{
	if (from->bad || from->at == from->end)
		return false;
	*out = (struct packet_field){ .tag = index_get_number(from) };
	switch (out->tag & 7) {
	case TRACE_WIRE_VARINT:
		out->value = index_get_number(from);
		return !from->bad;
	case TRACE_WIRE_FIXED64:
		from->bad |= from->end - from->at < 8;
		if (from->bad)
			return false;
		memcpy(&out->value, from->at, 8);
		out->value = le64toh(out->value);
		from->at += 8;
		return true;
	case TRACE_WIRE_BYTES:
		out->value = index_get_number(from);
		from->bad |= out->value > (uint64_t)(from->end - from->at);
		out->bytes = from->at;
		from->at += from->bad ? 0 : out->value;
		return !from->bad;
	default:
		from->bad = true;
		return false;
	}
}

static inline struct index_get packet_field_part(
	const struct packet_field *field)
{
	/* One that is hostile may be a number. */
	return (struct index_get){ .at = field->bytes,
				   .end = field->bytes
						  ? field->bytes + field->value
						  : NULL };
}

#endif
