/* SPDX-License-Identifier: Apache-2.0
 *
 * pbread - reads protobuf's wire format field by field. Written for the tests
 * alone: it shares no code with perfrec.
 */
#ifndef PERFREC_TESTS_PBREAD_H
#define PERFREC_TESTS_PBREAD_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pb { /* the rest of a message */
	const uint8_t *at, *end;
};

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_field {
	uint32_t number;
	enum pb_type type;
	uint64_t value; /* a number's value */
	struct pb bytes; /* a string's or message's content */
};

static inline struct pb pb_over(const void *data, size_t size)
{
	const uint8_t *at = data;

	return (struct pb){ at, at + size };
}

static inline size_t pb_left(const struct pb *pb)
{
	return (size_t)(pb->end - pb->at);
}

/* At most ten bytes, redundant ones included. 0, -ENODATA (cut) or
 * -EBADMSG (more than 64 bits). */
static inline int pb_varint(struct pb *pb, uint64_t *out)
{
	uint64_t value = 0;

	if (pb->at < pb->end && *pb->at < 0x80) { /* nearly all are short */
		*out = *pb->at++;
		return 0;
	}
	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint64_t byte;

		if (pb->at == pb->end)
			return -ENODATA;
		byte = *pb->at++;
		if (shift == 63 && byte > 1)
			return -EBADMSG;
		value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*out = value;
			return 0;
		}
	}
	return -EBADMSG;
}

static inline int pb_fixed(struct pb *pb, size_t size, uint64_t *out)
{
	if (pb_left(pb) < size)
		return -ENODATA;
	*out = 0;
	memcpy(out, pb->at, size); /* both are little endian */
	pb->at += size;
	return 0;
}

static inline int pb_bytes(struct pb *pb, struct pb *out)
{
	uint64_t size;
	int error = pb_varint(pb, &size);

	if (error)
		return error;
	if (size > pb_left(pb))
		return -ENODATA;
	*out = pb_over(pb->at, size);
	pb->at += size;
	return 0;
}

/* The next field. 1, 0 at the end of the message, -ENODATA when it is cut
 * short, -EBADMSG when it is no protobuf. */
static inline int pb_next(struct pb *pb, struct pb_field *field)
{
	uint64_t tag;
	int error;

	if (pb->at == pb->end)
		return 0;
	error = pb_varint(pb, &tag);
	if (error)
		return error;
	if (tag >> 3 == 0 || tag >> 32)
		return -EBADMSG;
	field->number = (uint32_t)(tag >> 3);
	field->type = tag & 7;
	switch (field->type) {
	case PB_VARINT:
		error = pb_varint(pb, &field->value);
		break;
	case PB_FIXED64:
		error = pb_fixed(pb, 8, &field->value);
		break;
	case PB_BYTES:
		error = pb_bytes(pb, &field->bytes);
		break;
	case PB_FIXED32:
		error = pb_fixed(pb, 4, &field->value);
		break;
	default:
		error = -EBADMSG;
	}
	return error ? error : 1;
}

#endif
