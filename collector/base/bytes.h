/* SPDX-License-Identifier: Apache-2.0
 *
 * bytes - a buffer that grows, and functions that append fields of protobuf.
 * One thread at a time. When memory is short the buffer has failed: it takes
 * nothing more until it is cleared, and what it has is not whole.
 */
#ifndef PERFREC_COLLECTOR_BASE_BYTES_H
#define PERFREC_COLLECTOR_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: empty. */
struct bytes {
	uint8_t *at;
	size_t count, room;
	bool failed;
};

/* Empties the buffer, which keeps its memory. */
void bytes_clear(struct bytes *bytes);
/* Frees its memory: it is empty again. */
void bytes_release(struct bytes *bytes);
/* Appends @count (> 0) bytes, which the caller fills in. Returns where they
 * are, until the next call; NULL: the buffer has failed. */
uint8_t *bytes_add(struct bytes *bytes, size_t count);
/* Appends the @count bytes at @from. */
void bytes_put(struct bytes *bytes, const void *from, size_t count);

void bytes_varint(struct bytes *bytes, uint64_t value);
/* Append a field. A tag is as it is on the wire: number << 3 | type. */
void bytes_field(struct bytes *bytes, uint32_t tag, uint64_t value);
void bytes_fixed64(struct bytes *bytes, uint32_t tag, uint64_t value);
/* Appends a field of @count bytes of text. Bytes that are no UTF-8 become '?';
 * a NUL is a character like any other. */
void bytes_text(struct bytes *bytes, uint32_t tag, const char *text,
		size_t count);
/* Returns how many bytes bytes_field() appends. */
size_t bytes_field_size(uint32_t tag, uint64_t value);

#endif
