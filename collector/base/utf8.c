/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/utf8.h"

#include <stdint.h>
#include <string.h>

static size_t length_of(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

uint32_t utf8_point(const char *text, size_t length)
{
	const unsigned char *byte = (const unsigned char *)text;
	uint32_t point = length > 1 ? byte[0] & (0x7fu >> length) : byte[0];

	for (size_t i = 1; i < length; i++)
		point = point << 6 | (byte[i] & 0x3f);
	return point;
}

size_t utf8_length(const char *text, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *byte = (const unsigned char *)text;
	size_t length = length_of(byte[0]);
	uint32_t point;

	if (length < 2)
		return length;
	if (length > left)
		return 0;
	for (size_t i = 1; i < length; i++)
		if (byte[i] >> 6 != 2)
			return 0;
	point = utf8_point(text, length);
	if (point < least[length] || point > 0x10ffff ||
	    (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return length;
}

size_t utf8_plain_bytes(const char *text, size_t count)
{
	const uint64_t each = 0x0101010101010101, high = 0x80 * each;
	uint64_t word;
	size_t at = 0;

	for (; at + sizeof(word) <= count; at += sizeof(word)) {
		memcpy(&word, text + at, sizeof(word));
		/* Tests for a byte of 0x80 or more, below 0x20, or 0x7f. */
		if ((word | (word - 0x20 * each) | (word + each)) & high)
			break;
	}
	return at;
}

bool utf8_steers(const char *text, size_t length)
{
	uint32_t point = utf8_point(text, length);

	if (point < 0x20 || (point >= 0x7f && point < 0xa0))
		return true;
	/* U+00AD: soft hyphen; U+061C: Arabic letter mark */
	if (point < 0x200b)
		return point == 0xad || point == 0x61c;
	return point <= 0x200f || (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2060 && point <= 0x206f) || point == 0xfeff ||
	       (point >= 0xe0000 && point <= 0xe007f);
}

size_t utf8_valid_bytes(const char *text, size_t count)
{
	size_t at = 0;

	while (at < count) {
		size_t length = utf8_plain_bytes(text + at, count - at);

		if (!length)
			length = utf8_length(text + at, count - at);
		if (!length)
			break;
		at += length;
	}
	return at;
}

size_t utf8_copy(char *to, const char *from, size_t count)
{
	size_t replaced = 0;

	for (size_t at = 0; at < count;) {
		size_t length = utf8_plain_bytes(from + at, count - at);

		if (length) {
			memmove(to + at, from + at, length);
			at += length;
			continue;
		}
		length = utf8_length(from + at, count - at);
		if (!length) {
			to[at++] = '?';
			replaced++;
			continue;
		}
		for (size_t end = at + length; at < end; at++)
			to[at] = from[at];
	}
	return replaced;
}
