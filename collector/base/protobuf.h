/* SPDX-License-Identifier: Apache-2.0
 *
 * protobuf - parses and writes fields of protobuf
 * (protobuf.dev/programming-guides/encoding). The bytes to parse may be hostile:
 * no function reads beyond the end, and each call advances. base/bytes.h appends
 * fields to a growing buffer. Pure, any thread.
 */
#ifndef PERFREC_COLLECTOR_BASE_PROTOBUF_H
#define PERFREC_COLLECTOR_BASE_PROTOBUF_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collector/base/varint.h"

/* The unread bytes from at to end. */
struct wire {
	const uint8_t *at, *end;
};

/* A field. tag (TAG_...) has its number and its wire type. */
struct wire_field {
	uint32_t tag;
	uint64_t value; /* a number; the size of bytes */
	const uint8_t *bytes; /* NULL: a number */
};

/* Reads a varint. Returns false if it is incomplete or too long; then @wire is
 * unchanged. */
static inline bool wire_varint(struct wire *wire, uint64_t *out)
{
	const uint8_t *end = varint_get(wire->at, wire->end, out);

	if (end)
		wire->at = end;
	return end;
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

/* Reads the next field. Returns false at the end, or if the bytes are not
 * fields; then the rest is unreadable. */
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

/* Returns the fields in @field, a message. */
static inline struct wire wire_of(const struct wire_field *field)
{
	return field->bytes ? (struct wire){ field->bytes,
					     field->bytes + field->value }
			    : (struct wire){ NULL, NULL };
}

/* Returns the value of the first field with @tag, or 0. */
static inline uint64_t wire_find(struct wire fields, uint32_t tag)
{
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == tag)
			return field.value;
	return 0;
}

/* The most bytes of a tag with a number. */
#define WIRE_FIELD_MAX (5 + VARINT_BYTES_MAX)

/* Writes @tag and a number, or the size of the bytes that follow. Returns the
 * end. @out has room for WIRE_FIELD_MAX bytes or for the field. */
static inline uint8_t *wire_put(uint8_t *out, uint32_t tag, uint64_t value)
{
	return varint_put(varint_put(out, tag), value);
}

/* Writes a field of @count bytes. Returns the end. */
static inline uint8_t *wire_put_bytes(uint8_t *out, uint32_t tag,
				      const void *bytes, size_t count)
{
	out = wire_put(out, tag, count);
	if (count)
		memcpy(out, bytes, count);
	return out + count;
}

#endif
