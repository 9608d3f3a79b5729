/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8 - validates UTF-8 (RFC 3629): no overlong form, no surrogate, nothing
 * above U+10FFFF. Texts of recorded programs may contain any bytes.
 */
#ifndef PERFREC_COLLECTOR_BASE_UTF8_H
#define PERFREC_COLLECTOR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_BYTES_MAX 4

/* Returns the length of the character at @text, 1 to UTF8_BYTES_MAX, or 0 if
 * the @left (> 0) bytes there start with no complete character. A NUL is a
 * character of one byte. */
size_t utf8_length(const char *text, size_t left);

/* Returns the code point of the character of @length bytes at @text; @length is
 * from utf8_length(). */
uint32_t utf8_point(const char *text, size_t length);

/* Returns the length of a prefix of @text that is ASCII without control
 * characters: a multiple of eight, possibly shorter than the longest one. */
size_t utf8_plain_bytes(const char *text, size_t count);

/* Returns true if the character changes how a terminal shows text: a control
 * character, a mark of direction such as U+202E, a character without width, or
 * an end of line. */
bool utf8_steers(const char *text, size_t length);

/* Returns the length of the longest prefix of @text that is valid UTF-8. */
size_t utf8_valid_bytes(const char *text, size_t count);

/* Copies @count arbitrary bytes and writes '?' for each byte outside of a
 * character. @to may be @from; otherwise they must not overlap. Returns the
 * number of replaced bytes. */
size_t utf8_copy(char *to, const char *from, size_t count);

#endif
