/* SPDX-License-Identifier: Apache-2.0
 *
 * put - writes texts and numbers to a stdio stream that only one thread uses,
 * many million times: no format is parsed, no lock taken. The stream keeps
 * errors: see ferror(3).
 */
#ifndef PERFREC_COLLECTOR_BASE_PUT_H
#define PERFREC_COLLECTOR_BASE_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void put_bytes(const char *bytes, size_t count, FILE *out);
void put_text(const char *text, FILE *out);
void put_char(char c, FILE *out);
void put_count(uint64_t number, FILE *out);
void put_int(int64_t number, FILE *out);
/* Writes @number / 1000: 1234567 as "1234.567", 1000 as "1". */
void put_thousandth(uint64_t number, FILE *out);
/* Returns the length of the character at @text (@left > 0 readable bytes), at
 * least 1. Sets *@seen to true if it is valid UTF-8 and does not steer a
 * terminal (utf8_steers()). */
size_t put_next(const char *text, size_t left, bool *seen);
/* Writes @count arbitrary bytes as a part of one line. Each byte that is not
 * UTF-8 and each character that steers a terminal (utf8_steers()) becomes '?'.
 * @instead (may be NULL) has pairs of ASCII characters: the first is replaced
 * by the second, such as ";:". */
void put_line(const char *text, size_t count, const char *instead, FILE *out);
/* Writes @count arbitrary bytes as a JSON string with quotes. Each byte that is
 * not UTF-8 becomes '?'; a character that steers a terminal (utf8_steers()) is
 * escaped. */
void put_json(const char *text, size_t count, FILE *out);
/* Writes character @point as a JSON escape: above U+FFFF as a surrogate
 * pair. */
void put_json_escape(uint32_t point, FILE *out);
void put_json_text(const char *text, FILE *out);
/* Writes a double as JSON; null for infinities and NaN, which JSON lacks. */
void put_json_real(double real, FILE *out);

#endif
