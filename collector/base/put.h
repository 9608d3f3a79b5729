/* SPDX-License-Identifier: Apache-2.0
 *
 * put - texts and numbers onto a stdio stream of which one thread knows, many
 * million times: no format is read, and no lock taken. Errors stay with the
 * stream: see ferror(3).
 */
#ifndef PERFREC_COLLECTOR_BASE_PUT_H
#define PERFREC_COLLECTOR_BASE_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* @count bytes as they are. */
void put_bytes(const char *bytes, size_t count, FILE *out);
/* @text as it is. */
void put_text(const char *text, FILE *out);
void put_char(char c, FILE *out);
/* A number, in digits. */
void put_count(uint64_t number, FILE *out);
void put_int(int64_t number, FILE *out);
/* A 1/1000 of @number: 1234567 is "1234.567", 1000 is "1". */
void put_thousandth(uint64_t number, FILE *out);
/* Sets *@seen to whether the character at @text, of which @left (> 0) bytes may
 * be read, is UTF-8 and none that steers (utf8_steers()). Returns how many
 * bytes it has, at least 1. */
size_t put_next(const char *text, size_t left, bool *seen);
/* The @count bytes at @text, which may be any, for a line of text: each byte
 * that is no UTF-8, and each character that steers (utf8_steers()), becomes
 * '?'. Each ASCII character that stands at an even place of @instead (NULL:
 * none) becomes the one behind it: ";:". */
void put_line(const char *text, size_t count, const char *instead, FILE *out);
/* The @count bytes at @text, which may be any, as a JSON string with its
 * quotes. Each byte that is no UTF-8 becomes '?'. A character that steers
 * (utf8_steers()) is escaped. */
void put_json(const char *text, size_t count, FILE *out);
/* Character @point as JSON escapes it: above U+FFFF in two parts. */
void put_json_escape(uint32_t point, FILE *out);
/* As put_json(), a text that ends with a NUL. */
void put_json_text(const char *text, FILE *out);
/* A double as JSON has it; null: JSON has no such number. */
void put_json_real(double real, FILE *out);

#endif
