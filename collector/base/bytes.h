/* SPDX-License-Identifier: Apache-2.0
 *
 * bytes - a buffer that grows, and protobuf fields put into it. One thread at
 * a time. Once memory was short it has failed, and takes nothing more until it
 * is cleared.
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

void bytes_clear(struct bytes *bytes);
void bytes_release(struct bytes *bytes);
/* Room for @count (> 0) bytes more, which the caller fills in; NULL: it has
 * failed. */
uint8_t *bytes_add(struct bytes *bytes, size_t count);
void bytes_put(struct bytes *bytes, const void *from, size_t count);

/* Tags are as they are on the wire: number << 3 | type. */
void bytes_varint(struct bytes *bytes, uint64_t value);
void bytes_field(struct bytes *bytes, uint32_t tag, uint64_t value);
void bytes_fixed64(struct bytes *bytes, uint32_t tag, uint64_t value);
/* @count bytes of any text, of which those that are no UTF-8 become '?'; a NUL
 * is as good as any other character. */
void bytes_text(struct bytes *bytes, uint32_t tag, const char *text,
		size_t count);
/* How many bytes bytes_field() takes. */
size_t bytes_field_size(uint32_t tag, uint64_t value);

#endif
