/* SPDX-License-Identifier: Apache-2.0
 *
 * json_text - texts of any bytes as JSON, which has to be UTF-8, and JSON as
 * text that a terminal may show.
 */
#ifndef PERFREC_COLLECTOR_BASE_JSON_TEXT_H
#define PERFREC_COLLECTOR_BASE_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* jansson leaves out what it has no memory for, and nobody asks each call. So
 * this asks once: whether jansson lacked memory in this thread after
 * json_text_watch(). Any thread. */
void json_text_watch(void);
bool json_text_lacked(void);

/* A new JSON string of @text, with '?' for each byte that is no UTF-8. The
 * caller owns it; NULL: no memory. Any thread. */
json_t *json_text(const char *text);

/* Writes @json to @out, as json_dumpf() with @flags does, but what steers a
 * terminal (utf8_steers()), such as U+0085 and U+202E, is written as \u and
 * four digits: read back, the texts are the same. 0; or -1: an error of @out,
 * or no memory. Any thread. */
int json_text_write(const json_t *json, size_t flags, FILE *out);

#endif
