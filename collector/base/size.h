/* SPDX-License-Identifier: Apache-2.0
 *
 * size - numbers as people write and read them: "64M", "1,234,567", "1.24 s".
 */
#ifndef PERFREC_COLLECTOR_BASE_SIZE_H
#define PERFREC_COLLECTOR_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/*
 * A whole decimal number of bytes, with K, M, G or T for powers of 1024
 * ("64M"; small letters too). Returns 0, -EINVAL (not that) or -ERANGE (more
 * than 64 bits hold).
 */
int size_parse_bytes(const char *text, uint64_t *out);
/* A whole decimal number from @min to @max. 0, -EINVAL or -ERANGE. */
int size_parse_count(const char *text, uint64_t min, uint64_t max,
		     uint64_t *out);

/*
 * A whole decimal number with its unit, ms, s, m or h ("10s"), in ns. 0,
 * -EINVAL or -ERANGE.
 */
int size_parse_ns(const char *text, uint64_t *out);

/* Room for any text that the functions below make. */
#define SIZE_TEXT 32

/* Each writes at most SIZE_TEXT bytes to @text and returns it. */
char *size_format_bytes(uint64_t bytes, char *text); /* "1.50 MiB" */
char *size_format_ns(uint64_t ns, char *text); /* "1.24 ms", "12 min 05 s" */
char *size_format_count(uint64_t count, char *text); /* "1,234,567" */

/*
 * Writes at most @room bytes of @form to @text: "#" becomes @number (of digits
 * only), and "{block was|blocks were}" its first half if that is "1".
 */
void size_format_text(const char *form, const char *number, char *text,
		      size_t room);

#endif
