/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/bytes.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/varint.h"
#include "shared/compiler.h"

#define ROOM_MIN 256u

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
	size_t room = bytes->room ? bytes->room : ROOM_MIN;
	uint8_t *longer;

	if (bytes->failed)
		return NULL;
	while (room - bytes->count < count)
		room *= 2;
	if (room != bytes->room) {
		longer = realloc(bytes->at, room);
		if (!longer) {
			bytes->failed = true;
			return NULL;
		}
		bytes->at = longer;
		bytes->room = room;
	}
	bytes->count += count;
	return bytes->at + bytes->count - count;
}

void bytes_put(struct bytes *bytes, const void *from, size_t count)
{
	uint8_t *to = bytes_add(bytes, count);

	if (to && count)
		memcpy(to, from, count);
}

void bytes_varint(struct bytes *bytes, uint64_t value)
{
	uint8_t varint[10];

	bytes_put(bytes, varint, (size_t)(varint_put(varint, value) - varint));
}

void bytes_field(struct bytes *bytes, uint32_t tag, uint64_t value)
{
	bytes_varint(bytes, tag);
	bytes_varint(bytes, value);
}

void bytes_fixed64(struct bytes *bytes, uint32_t tag, uint64_t value)
{
	value = htole64(value);
	bytes_varint(bytes, tag);
	bytes_put(bytes, &value, sizeof(value));
}

size_t bytes_field_size(uint32_t tag, uint64_t value)
{
	uint8_t varints[20];

	return (size_t)(varint_put(varint_put(varints, tag), value) - varints);
}

/* Bytes of the UTF-8 character at @s, of which @left are there; 0: it is none
 * (RFC 3629: no overlong form, surrogate, or more than U+10FFFF). */
static size_t character(const unsigned char *s, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = s[0] < 0x80	    ? 1
			: s[0] >> 5 == 6    ? 2
			: s[0] >> 4 == 0xe  ? 3
			: s[0] >> 3 == 0x1e ? 4
					    : 0;
	uint32_t point;
	size_t i;

	if (length < 2 || length > left)
		return length == 1;
	point = s[0] & (0x7fu >> length);
	for (i = 1; i < length; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	if (point < least[length] || point > 0x10ffff ||
	    (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return length;
}

void bytes_text(struct bytes *bytes, uint32_t tag, const char *text,
		size_t count)
{
	const unsigned char *from = (const unsigned char *)text;
	size_t at = 0, length;
	uint8_t *to;

	bytes_field(bytes, tag, count);
	to = bytes_add(bytes, count);
	while (to && at < count) {
		length = character(from + at, count - at);
		if (length)
			memcpy(to + at, from + at, length);
		else
			to[at] = '?';
		at += MAX(length, (size_t)1);
	}
}
