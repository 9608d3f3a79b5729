/* SPDX-License-Identifier: Apache-2.0
 *
 * varint - protobuf's form of an unsigned number: seven bits a byte, the lowest
 * first. The top bit of a byte is set if another byte follows.
 */
#ifndef PERFREC_COLLECTOR_BASE_VARINT_H
#define PERFREC_COLLECTOR_BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#include "shared/compiler.h"

#define VARINT_BYTES_MAX 10

/* Writes the shortest varint of @value to @out, which has room for
 * VARINT_BYTES_MAX bytes. Returns the end of the varint. */
static inline uint8_t *varint_put(uint8_t *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*out++ = (uint8_t)(value | 0x80);
	*out++ = (uint8_t)value;
	return out;
}

static inline const uint8_t *varint_get_slow(const uint8_t *at,
					     const uint8_t *end, uint64_t *out)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; at < end && shift < 64; shift += 7) {
		uint8_t byte = *at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = value;
			return shift == 63 && byte > 1 ? NULL : at;
		}
	}
	return NULL;
}

/* Reads the varint at @at. Returns its end, or NULL if it reaches beyond @end
 * or has more than 64 bits. */
static inline const uint8_t *varint_get(const uint8_t *at, const uint8_t *end,
					uint64_t *out)
{
	if (likely(at < end && *at < 0x80)) {
		*out = *at;
		return at + 1;
	}
	return varint_get_slow(at, end, out);
}

#endif
