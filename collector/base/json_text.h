/* SPDX-License-Identifier: Apache-2.0
 *
 * json_text - arbitrary bytes as JSON, which must be UTF-8, and JSON as text
 * that is safe for a terminal.
 */
#ifndef PERFREC_COLLECTOR_BASE_JSON_TEXT_H
#define PERFREC_COLLECTOR_BASE_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* jansson silently leaves out values when memory is short. json_text_lacked()
 * returns true if that happened in this thread since json_text_watch(). Any
 * thread. */
void json_text_watch(void);
bool json_text_lacked(void);

/* Returns a new JSON string of @text with '?' for each byte that is not UTF-8,
 * or NULL without memory. The caller owns it. Any thread. */
json_t *json_text(const char *text);

/* Returns a new JSON integer of @value, at most INT64_MAX, or NULL without
 * memory. The caller owns it. Any thread. */
json_t *json_number(uint64_t value);

/* Writes @json to @out as json_dumpf() does with @flags. Characters that steer
 * a terminal (utf8_steers()), such as U+0085 and U+202E, are written as \u and
 * four digits, so a reader gets the same text. Returns 0, or -1 on an error of
 * @out or without memory. Any thread. */
int json_text_write(const json_t *json, size_t flags, FILE *out);
/* Writes @json, indented and with a newline, to @fd, which it closes. Returns 0
 * or -errno. Any thread. */
int json_text_write_fd(const json_t *json, int fd);
/* Writes @json, indented and with a newline, to @out, flushes @out and frees
 * @json. NULL for @json: no memory. Returns 0, -ENOMEM or -EIO. Any thread. */
int json_text_print(json_t *json, FILE *out);

#endif
