/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/base64.h"

#include <stdint.h>
#include <stdlib.h>

void base64_write(const void *from, size_t count, char *to)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *bytes = from;

	for (size_t at = 0; at < count; at += 3) {
		const size_t left = count - at;
		const uint32_t three =
			(uint32_t)bytes[at] << 16 |
			(left > 1 ? (uint32_t)bytes[at + 1] << 8 : 0) |
			(left > 2 ? bytes[at + 2] : 0u);

		*to++ = digits[three >> 18];
		*to++ = digits[three >> 12 & 63];
		*to++ = left > 1 ? digits[three >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[three & 63] : '=';
	}
}

char *base64_text(const void *from, size_t count)
{
	char *text = malloc(BASE64_LENGTH(count) + 1);

	if (!text)
		return NULL;
	base64_write(from, count, text);
	text[BASE64_LENGTH(count)] = '\0';
	return text;
}
