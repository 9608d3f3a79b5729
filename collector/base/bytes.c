/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/bytes.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/protobuf.h"
#include "collector/base/utf8.h"

void bytes_clear(struct bytes *bytes)
{
	bytes->count = 0;
	bytes->failed = false;
}

void bytes_release(struct bytes *bytes)
{
	free(bytes->at);
	*bytes = (struct bytes){ 0 };
}

uint8_t *bytes_add(struct bytes *bytes, size_t count)
{
	if (bytes->failed)
		return NULL;
	bytes->failed =
		grow_array(bytes->at, bytes->room, bytes->count + count);
	if (bytes->failed)
		return NULL;
	bytes->count += count;
	return bytes->at + bytes->count - count;
}

void bytes_put(struct bytes *bytes, const void *from, size_t count)
{
	uint8_t *to = count ? bytes_add(bytes, count) : NULL;

	if (to)
		memcpy(to, from, count);
}

void bytes_varint(struct bytes *bytes, uint64_t value)
{
	uint8_t varint[VARINT_BYTES_MAX];

	bytes_put(bytes, varint, (size_t)(varint_put(varint, value) - varint));
}

void bytes_field(struct bytes *bytes, uint32_t tag, uint64_t value)
{
	uint8_t field[WIRE_FIELD_MAX];

	bytes_put(bytes, field, (size_t)(wire_put(field, tag, value) - field));
}

void bytes_part(struct bytes *bytes, uint32_t tag, const void *from,
		size_t count)
{
	bytes_field(bytes, tag, count);
	bytes_put(bytes, from, count);
}

void bytes_fixed64(struct bytes *bytes, uint32_t tag, uint64_t value)
{
	value = htole64(value);
	bytes_varint(bytes, tag);
	bytes_put(bytes, &value, sizeof(value));
}

size_t bytes_field_size(uint32_t tag, uint64_t value)
{
	uint8_t field[WIRE_FIELD_MAX];

	return (size_t)(wire_put(field, tag, value) - field);
}

void bytes_text(struct bytes *bytes, uint32_t tag, const char *text,
		size_t count)
{
	uint8_t *to;

	bytes_field(bytes, tag, count);
	to = count ? bytes_add(bytes, count) : NULL;
	if (to)
		utf8_copy((char *)to, text, count);
}
