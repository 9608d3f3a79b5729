/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8 - which bytes are UTF-8 (RFC 3629): no overlong form, no surrogate,
 * nothing above U+10FFFF. Texts out of recorded programs may hold any bytes.
 */
#ifndef PERFREC_COLLECTOR_BASE_UTF8_H
#define PERFREC_COLLECTOR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest character. */
#define UTF8_BYTES_MAX 4

/* How many bytes the character at @text has, of whose bytes @left may be read,
 * at least one. Returns 1 to UTF8_BYTES_MAX, or 0 if no whole character is
 * there. A NUL is a character of one byte. */
size_t utf8_length(const char *text, size_t left);

/* The number of the character of @length bytes at @text, which utf8_length()
 * returned. */
uint32_t utf8_point(const char *text, size_t length);

/* How many bytes at the begin of @count at @text are of ASCII, and no control
 * characters: a multiple of eight, which may be fewer than there are. */
size_t utf8_plain_bytes(const char *text, size_t count);

/* Whether the character of @length bytes at @text is no text, but changes what
 * a terminal shows: a control character, a mark of direction (U+202E and its
 * like), one without width, or an end of line. */
bool utf8_steers(const char *text, size_t length);

/* How many of the @count bytes at @text are characters, up to the first byte
 * that is none. */
size_t utf8_valid_bytes(const char *text, size_t count);

/* Copies @count bytes of any text and writes '?' for each byte that belongs to
 * no character. @to may be @from; otherwise they do not overlap. Returns how
 * many bytes it replaced. */
size_t utf8_copy(char *to, const char *from, size_t count);

#endif
