/* SPDX-License-Identifier: Apache-2.0
 *
 * varint - protobuf's form of an unsigned number: seven bits a byte, the
 * lowest first; the top bit of a byte says that another byte follows.
 */
#ifndef PERFREC_COLLECTOR_BASE_VARINT_H
#define PERFREC_COLLECTOR_BASE_VARINT_H

#include <stdint.h>

/* The most bytes that varint_put() writes. */
#define VARINT_BYTES_MAX 10

/* Writes the shortest varint of @value at @out, which must have room for
 * VARINT_BYTES_MAX bytes. Returns the end of what was written. */
static inline uint8_t *varint_put(uint8_t *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*out++ = (uint8_t)(value | 0x80);
	*out++ = (uint8_t)value;
	return out;
}

#endif
