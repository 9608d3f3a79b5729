/* SPDX-License-Identifier: Apache-2.0
 *
 * base64 - encodes bytes as text (RFC 4648), padded with '='.
 */
#ifndef PERFREC_COLLECTOR_BASE_BASE64_H
#define PERFREC_COLLECTOR_BASE_BASE64_H

#include <stddef.h>

#define BASE64_LENGTH(count) (4 * (((count) + 2) / 3))

/* Writes BASE64_LENGTH(@count) characters to @to, without a NUL. */
void base64_write(const void *from, size_t count, char *to);
/* Returns the text with a NUL, which the caller frees; or NULL without memory.
 */
char *base64_text(const void *from, size_t count);

#endif
