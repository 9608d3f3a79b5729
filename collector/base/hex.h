/* SPDX-License-Identifier: Apache-2.0
 *
 * hex - bytes as hexadecimal text, for build ids and request ids. Pure.
 */
#ifndef PERFREC_COLLECTOR_BASE_HEX_H
#define PERFREC_COLLECTOR_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes @count bytes to @out as lower case digits, with a NUL: 2 * @count + 1
 * bytes. */
static inline void hex_text(const uint8_t *bytes, size_t count, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

/* Returns the value of a lower case digit, or -1 for other characters. */
static inline int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

#endif
