/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_wire - fields of protobuf, from bytes that may come from anywhere
 * (protobuf.dev/programming-guides/encoding). Pure, any thread. Nothing is read
 * beyond the end, and each call gets further.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_WIRE_H
#define PERFREC_COLLECTOR_READ_TRACE_WIRE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collector/base/varint.h"
#include "shared/compiler.h"

/* Bytes that have not been read yet: from at to end. */
struct wire {
	const uint8_t *at, *end;
};

/* A field. Its number and its wire type are those of tag (TAG_...). */
struct wire_field {
	uint32_t tag;
	uint64_t value; /* a number; of bytes: how many */
	const uint8_t *bytes; /* NULL: a number */
};

static inline bool wire_varint_slow(struct wire *wire, uint64_t *out)
{
	const uint8_t *at = wire->at;
	uint64_t value = 0;

	for (unsigned int shift = 0; at < wire->end && shift < 64; shift += 7) {
		uint8_t byte = *at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			wire->at = at;
			*out = value;
			return true;
		}
	}
	return false;
}

/* Takes a varint. False: @wire ends in it, or it is longer than any; then
 * @wire is as it was. */
static inline bool wire_varint(struct wire *wire, uint64_t *out)
{
	if (likely(wire->at < wire->end && *wire->at < 0x80)) {
		*out = *wire->at++;
		return true;
	}
	return wire_varint_slow(wire, out);
}

static inline bool wire_fixed(struct wire *wire, size_t count,
			      struct wire_field *out)
{
	uint64_t value = 0;

	if ((size_t)(wire->end - wire->at) < count)
		return false;
	memcpy(&value, wire->at, count);
	out->value = le64toh(value);
	wire->at += count;
	return true;
}

/* Takes the next field. False: there is none, or the bytes are no fields; then
 * nothing more can be taken. */
static inline bool wire_next(struct wire *wire, struct wire_field *out)
{
	uint64_t tag;

	if (!wire_varint(wire, &tag) || tag > UINT32_MAX)
		return false;
	out->tag = (uint32_t)tag;
	out->bytes = NULL;
	switch (tag & 7) {
	case 0:
		return wire_varint(wire, &out->value);
	case 1:
		return wire_fixed(wire, 8, out);
	case 2:
		if (!wire_varint(wire, &out->value) ||
		    out->value > (uint64_t)(wire->end - wire->at))
			return false;
		out->bytes = wire->at;
		wire->at += out->value;
		return true;
	case 5:
		return wire_fixed(wire, 4, out);
	default:
		return false;
	}
}

/* The fields in @field, a message. */
static inline struct wire wire_of(const struct wire_field *field)
{
	return field->bytes ? (struct wire){ field->bytes,
					     field->bytes + field->value }
			    : (struct wire){ NULL, NULL };
}

#endif
