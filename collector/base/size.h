/* SPDX-License-Identifier: Apache-2.0
 *
 * size - parses and formats numbers for people: "64M", "1,234,567", "1.24 s".
 */
#ifndef PERFREC_COLLECTOR_BASE_SIZE_H
#define PERFREC_COLLECTOR_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* The four parsers return 0 and set *@out, or leave it and return -EINVAL
 * (@text is malformed) or -ERANGE. */

/* A decimal number of bytes in 64 bits, with optional K, M, G or T for powers
 * of 1024 ("64M", "64m"). */
int size_parse_bytes(const char *text, uint64_t *out);
int size_parse_count(const char *text, uint64_t min, uint64_t max,
		     uint64_t *out);
/* A time in ns: a decimal number with unit ms, s, m or h ("10s"). */
int size_parse_ns(const char *text, uint64_t *out);
/* A time in ns: a decimal number with up to nine digits behind the point and
 * unit ns, us, ms, s, m or h ("1.5us"). */
int size_parse_duration(const char *text, uint64_t *out);

#define SIZE_TEXT 32

/* Each writes at most SIZE_TEXT bytes to @text and returns @text. */
char *size_format_bytes(uint64_t bytes, char *text); /* "1.50 MiB" */
char *size_format_ns(uint64_t ns, char *text); /* "1.24 ms", "12 min 05 s" */
/* Formats @ns if it is at least @error_ns; else an upper bound with one digit,
 * rounded up: "< 300 us". */
char *size_format_ns_within(uint64_t ns, uint64_t error_ns, char *text);
char *size_format_count(uint64_t count, char *text); /* "1,234,567" */

/* Returns the ending of a noun behind @count. */
static inline const char *size_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/*
 * Writes @form to @text, at most @room bytes with the NUL. "#" becomes @number,
 * which has only digits. "{block was|blocks were}" becomes the first part if
 * @number is "1", else the second.
 */
void size_format_text(const char *form, const char *number, char *text,
		      size_t room);

#endif
