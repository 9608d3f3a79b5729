/* SPDX-License-Identifier: Apache-2.0
 *
 * bytes - a growing buffer, and functions that append protobuf fields. One
 * thread at a time. Without memory the buffer enters a failed state: it is
 * incomplete and drops all data until bytes_clear().
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
/* Appends @count (> 0) bytes for the caller to fill. Returns their address,
 * valid until the next call, or NULL if the buffer has failed. */
uint8_t *bytes_add(struct bytes *bytes, size_t count);
void bytes_put(struct bytes *bytes, const void *from, size_t count);

void bytes_varint(struct bytes *bytes, uint64_t value);
/* Append a field. A tag is as on the wire: number << 3 | type. */
void bytes_field(struct bytes *bytes, uint32_t tag, uint64_t value);
void bytes_fixed64(struct bytes *bytes, uint32_t tag, uint64_t value);
/* Appends a field of @count bytes, such as a message. */
void bytes_part(struct bytes *bytes, uint32_t tag, const void *from,
		size_t count);
/* Appends a text field of @count bytes. Bytes that are not UTF-8 become '?';
 * NUL is an ordinary character. */
void bytes_text(struct bytes *bytes, uint32_t tag, const char *text,
		size_t count);
size_t bytes_field_size(uint32_t tag, uint64_t value);

#endif
